package faultinject

// The tests run all parts of the program weir.
import _ "weir/app/all"
