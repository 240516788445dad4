package figuretest_test

// The example draws.
import _ "weir/app/figure"
