package faultinject

// The tests run what the program weir has.
import _ "weir/app/all"
