# compare.awk - two dumps: `awk -f compare.awk EXPECTED FOUND`. Integers and texts must be the same, numbers with a point
# or an exponent within 1e-9 of each other. Prints the first differences; exit status 1 when there are any.
function numbers(line, out,    count, rest) {
    count = 0
    rest = line
    while (match(rest, /[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/)) {
        out[++count] = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
    }
    return count
}

function skeleton(line) {
    gsub(/[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/, "#", line)
    return line
}

function same_number(a, b,    scale, difference) {
    if (a == b "" )
        return 1
    if (a !~ /[.eE]/ && b !~ /[.eE]/)
        return 0
    difference = a - b
    scale = a + 0 < 0 ? -a : a + 0
    return (difference < 0 ? -difference : difference) <= 1e-9 * (scale > 1 ? scale : 1)
}

function same(a, b,    i, count) {
    if (a == b)
        return 1
    if (skeleton(a) != skeleton(b))
        return 0
    count = numbers(a, left)
    if (numbers(b, right) != count)
        return 0
    for (i = 1; i <= count; i++)
        if (!same_number(left[i] "", right[i] ""))
            return 0
    return 1
}

FNR == NR { expected[++lines] = $0; next }

{
    found++
    if ((found > lines || !same(expected[found], $0)) && ++faults <= 5) {
        print "line " found ":"
        print "  expected " (found > lines ? "nothing" : expected[found])
        print "  found    " $0
    }
}

END {
    if (found < lines) {
        print (lines - found) " lines are missing, the first is " expected[found + 1]
        faults++
    }
    exit faults > 0
}
