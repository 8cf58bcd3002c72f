# kvsim_room(ROOM SOURCES file.c... DEPENDS room... [LIBS target...])
#
# Compiles one folder of src/ and adds its objects to the library. DEPENDS repeats the room's line of
# tools/layers.txt, the table that tools/check_layers holds every include against; a difference between
# the two stops the configuration. LIBS are third-party targets that the room's sources include.
# A room without sources is legal and defines nothing.

set(KVSIM_LAYERS_FILE "${CMAKE_CURRENT_SOURCE_DIR}/tools/layers.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${KVSIM_LAYERS_FILE}")

function(kvsim_room room)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "kvsim_room(${room}): unexpected ${arg_UNPARSED_ARGUMENTS}")
    endif()
    kvsim_room_check_layers(${room} "${arg_DEPENDS}")
    if(NOT arg_SOURCES)
        return()
    endif()

    add_library(kvsim_${room} OBJECT ${arg_SOURCES})
    target_include_directories(kvsim_${room} PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(kvsim_${room} PRIVATE kvsim_flags ${arg_LIBS})
    target_sources(kvsim_lib PRIVATE $<TARGET_OBJECTS:kvsim_${room}>)
endfunction()

function(kvsim_room_check_layers room depends)
    file(STRINGS "${KVSIM_LAYERS_FILE}" line REGEX "^[0-9]+ ${room}:")
    string(REGEX REPLACE "^[^:]*: *" "" allowed "${line}")
    string(REGEX REPLACE " +" ";" allowed "${allowed}")
    list(SORT allowed)
    list(SORT depends)
    if(NOT line OR NOT "${allowed}" STREQUAL "${depends}")
        message(FATAL_ERROR "src/${room}: DEPENDS is '${depends}', tools/layers.txt says '${allowed}'")
    endif()
endfunction()
