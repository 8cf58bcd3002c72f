# cmake -DSCRATCH=dir -DSOURCE=dir -DEXIT=n -DOUT=regex -DERR=regex -P cli_run.cmake -- PROGRAM ARG...
#
# The body of kvsim_cli_test. Arguments travel after "--", one by one, so that ';' and quotes survive.

set(command "")
set(started FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
    if(started)
        # A list element may hold ';' only when escaped.
        string(REPLACE ";" "\\;" word "${CMAKE_ARGV${index}}")
        list(APPEND command "${word}")
    elseif("${CMAKE_ARGV${index}}" STREQUAL "--")
        set(started TRUE)
    endif()
endforeach()

file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}")
foreach(folder models hardware engines scenarios)
    if(EXISTS "${SOURCE}/${folder}")
        file(CREATE_LINK "${SOURCE}/${folder}" "${SCRATCH}/${folder}" SYMBOLIC)
    endif()
endforeach()
file(GLOB before LIST_DIRECTORIES true RELATIVE "${SCRATCH}" "${SCRATCH}/*")

execute_process(COMMAND ${command} WORKING_DIRECTORY "${SCRATCH}"
    RESULT_VARIABLE exit OUTPUT_VARIABLE out ERROR_VARIABLE err)

set(faults "")
if(NOT "${exit}" STREQUAL "${EXIT}")
    string(APPEND faults "exit status ${exit}, expected ${EXIT}\n")
endif()
if(NOT "${OUT}" STREQUAL "" AND NOT "${out}" MATCHES "${OUT}")
    string(APPEND faults "stdout does not match: ${OUT}\n")
endif()
if(NOT "${ERR}" STREQUAL "" AND NOT "${err}" MATCHES "${ERR}")
    string(APPEND faults "stderr does not match: ${ERR}\n")
endif()
if("${exit}" MATCHES "^[2345]$")
    file(GLOB after LIST_DIRECTORIES true RELATIVE "${SCRATCH}" "${SCRATCH}/*")
    if(NOT "${after}" STREQUAL "${before}")
        string(APPEND faults "a refused command changed its folder: ${before} -> ${after}\n")
    endif()
endif()
if(faults)
    list(JOIN command " " shown)
    message(FATAL_ERROR "${shown}\n${faults}--- stdout\n${out}--- stderr\n${err}")
endif()
