# Reads the output of go test -v: prints each package's result, everything of a package
# that failed, and of the packages that need a machine prepared (the lab's, and the guard,
# for valgrind) which tests ran or were skipped and why. With root=1 a skip there is an
# error, but for a machine that disturbed all attempts, which is told.
/^=== / { next }
/^(ok  |FAIL|\?   )\t/ || /^FAIL$/ {
	if ($1 == "FAIL") {
		bad = 1
		for (i = 1; i <= lines; i++) print buffer[i]
	}
	if ($2 ~ /^weir\/(worlds\/(lab|softswitch|agent)|internal\/(netns|ring|rtnl|sockdiag|tcx)$|study\/bench$|cmd\/weir$|cmd\/weir\/guard$)/) {
		for (i = 1; i <= results; i++) print result[i]
		for (i = 1; i <= skips; i++) {
			if (skip[i] ~ /_test\.go:[0-9]+: disturbed: /) disturbed++
			else wrong[++wrongs] = skip[i]
		}
		ran += passed
	}
	if ($0 !~ /no test files/) print
	lines = results = skips = passed = words = 0
	next
}
{ buffer[++lines] = $0 }
/^ +--- (PASS|SKIP|FAIL): / { # a part of a test: it comes after the whole, its log before that
	if ($2 == "SKIP:") {
		result[++results] = "      " $2 " " $3 text
		skip[++skips] = $3 ":" text
	}
	next
}
/^    [^ ]/ { said[++words] = $0 } # a test's log comes before its result, and last the reason of a skip
/^--- (PASS|SKIP|FAIL): / {
	passed += $2 == "PASS:"
	result[++results] = "      " substr($0, 5)
	text = ""
	for (i = 1; i <= words; i++) {
		text = text " " substr(said[i], 5)
		if ($2 == "SKIP:") result[++results] = "      " said[i]
	}
	if ($2 == "SKIP:") skip[++skips] = $3 ":" text
	words = 0
}
END {
	print "of the lab and the guard: " ran + 0 " tests ran, " wrongs + disturbed + 0 " were skipped"
	if (disturbed) print disturbed " of them because the machine disturbed every attempt"
	if (root && wrongs) {
		for (i = 1; i <= wrongs; i++) print "skipped as root: " wrong[i]
		bad = 1
	}
	if (!ran && root) bad = 1
	exit bad
}
