// Package run carries out what a plan has, in the simulator or in the lab: several runs at a
// time, those that a results folder has not yet, with traces of ports. A run of the lab that
// the machine disturbs is made again.
package run
