# cmake -DROOT=dir -DLIST=file -DOUT=file.c -P embed.cmake
#
# Writes a C file that holds the files named in LIST (one path a line, relative to ROOT) as a table of
# struct scenario_embedded, in the order of the list. A zero byte follows each file and is not counted.

file(STRINGS "${LIST}" paths)
set(arrays "")
set(rows "")
set(count 0)
foreach(path IN LISTS paths)
    file(READ "${ROOT}/${path}" hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR length "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND arrays "static const unsigned char file_${count}[] = {\n${hex}0x00};\n")
    string(APPEND rows "    {\"${path}\", file_${count}, ${length}},\n")
    math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
    set(rows "    {0, 0, 0},\n")
endif()

file(WRITE "${OUT}" "/* Written by cmake/embed.cmake. */
#include \"scenario/embedded.h\"

${arrays}
const struct scenario_embedded scenario_embedded_files[] = {
${rows}};
const size_t scenario_embedded_count = ${count};
")
