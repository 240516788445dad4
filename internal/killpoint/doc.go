// Package killpoint marks the operations at which a test may kill or hold a process: its third rename, its first
// write, the moment at which it listens for signals. Only a build with the tag killpoints can do so. In every other
// build the functions are empty, and the program reads no variable for them.
//
// A test names a folder in the variable WEIR_KILLPOINTS. Each process with that variable appends one line per
// operation to the folder's file log, such as "before rename runs/1a2b.json". The file plan, if it exists, has one
// line with an action, a moment, an operation, a pattern of path.Match and a count:
//
//	kill after rename runs/*.json 3
//
// The process then kills itself (SIGKILL) at the third such line. The action hold blocks that operation and all later
// ones that match, until the folder has a file named release; their lines start with "held". Counts are per process.
package killpoint

// Moments of an operation.
const (
	Before = "before"
	Within = "within" // between two halves of a write
	After  = "after"
)
