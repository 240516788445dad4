package cli

// The tests run the command line that the program weir has.
import _ "weir/app/all"
