// Package run executes the runs of a plan in the simulator or in the lab: several at a time, only those that the
// results folder lacks, and with traces of ports. It repeats a run of the lab if the machine disturbed it.
package run
