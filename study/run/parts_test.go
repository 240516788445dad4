package run_test

// The tests run with all parts of the program weir.
import _ "weir/app/all"
