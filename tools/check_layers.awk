# The include rules of tools/check_layers. Input: the table, then a list of paths to read.

function fault(where, text) {
    print where ": " text
    faults++
}

# The room a path or an include belongs to; "kvsim" is the installed API.
function room_of(path) {
    sub(/^(src|include)\//, "", path)
    return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : ""
}

function read_table(line,    words, count, i, room) {
    sub(/#.*/, "", line)
    if (line !~ /[^ \t]/)
        return
    count = split(line, words, /[ \t]+/)
    room = words[2]
    sub(/:$/, "", room)
    level[room] = words[1]
    for (i = 3; i <= count; i++)
        if (words[i] != "")
            may[room, words[i]] = 1
}

function check_table(    pair, parts) {
    for (pair in may) {
        split(pair, parts, SUBSEP)
        sub(/\/.*/, "", parts[2])
        if (!(parts[2] in level))
            fault("tools/layers.txt", parts[1] " names an unknown room '" parts[2] "'")
        else if (level[parts[2]] >= level[parts[1]])
            fault("tools/layers.txt", parts[1] " may not reach up or sideways to " parts[2])
    }
}

# Headers that belong to one place: returns the rooms that may have them, or "" for plain libc.
function owners(header) {
    if (header ~ /^sqlite3/)
        return "store"
    if (header ~ /^yaml\.h$/)
        return "conf"
    if (header ~ /^gsl\//)
        return "rng stats calib"
    if (header ~ /^(pthread|threads|semaphore|sched|mpi)\.h$/)
        return "study"
    return ""
}

function check_include(where, room, target, quoted,    other, allowed) {
    other = room_of(target)
    if (target ~ /\.\./)
        fault(where, "relative include '" target "'")
    else if (other == "kvsim") {
        if (room == "kvsim" && quoted)
            fault(where, "an installed header names its siblings as <kvsim/...>")
    } else if (quoted) {
        if (other == "")
            fault(where, "'" target "' does not name its room")
        else if (room == "kvsim")
            fault(where, "an installed header includes '" target "'")
        else if (other != room && !((room, other) in may) && !((room, target) in may))
            fault(where, room " may not include " other " ('" target "')")
    } else {
        allowed = owners(target)
        if (allowed != "" && index(" " allowed " ", " " room " ") == 0)
            fault(where, "<" target "> is for " allowed " only")
    }
}

function read_source(path,    room, line, number, target, quoted, first, own) {
    room = room_of(path)
    own = path
    sub(/^src\//, "", own)
    sub(/\.c$/, ".h", own)
    if (!(room in level) && room != "kvsim") {
        fault(path, "room '" room "' is not in tools/layers.txt")
        return
    }
    first = 1
    while ((getline line < path) > 0) {
        number++
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
            continue
        quoted = line ~ /include[ \t]*"/
        target = line
        sub(/^[^"<]*["<]/, "", target)
        sub(/[">].*$/, "", target)
        check_include(path ":" number, room, target, quoted)
        if (first && path ~ /\.c$/ && (own in known) && target != own)
            fault(path ":" number, "the first include is not its own header '" own "'")
        first = 0
        edges[path] = edges[path] " " (target ~ /^kvsim\// ? "include/" : "src/") target
    }
    close(path)
}

# Longest chain of rooms' headers below a path; the installed API counts as libc does. A cycle is a fault.
function depth(path,    words, count, i, deep, most) {
    if (path in depth_of)
        return depth_of[path]
    if (path in walking) {
        fault(path, "includes itself through others")
        return 0
    }
    walking[path] = 1
    count = split(edges[path], words, " ")
    for (i = 1; i <= count; i++)
        if (words[i] in exists && words[i] !~ /^include\//) {
            deep = 1 + depth(words[i])
            if (deep > most) {
                most = deep
                next_of[path] = words[i]
            }
        }
    delete walking[path]
    return depth_of[path] = most + 0
}

function chain_below(path,    text) {
    for (path = next_of[path]; path != ""; path = next_of[path])
        text = text " > " substr(path, 5)
    return text
}

FNR == NR {
    read_table($0)
    next
}

{
    paths[++path_count] = $0
    exists[$0] = 1
    name = $0
    if (sub(/^src\//, "", name))
        known[name] = 1
}

END {
    check_table()
    for (i = 1; i <= path_count; i++)
        read_source(paths[i])
    for (i = 1; i <= path_count; i++)
        if (depth(paths[i]) > 12)
            fault(paths[i], "include chain of " depth_of[paths[i]] ", at most 12:" chain_below(paths[i]))
    exit faults > 0
}
