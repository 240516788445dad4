package bench_test

// The tests run with what the program weir has.
import _ "weir/app/all"
