// Package atomicfile writes files that are whole whenever they are there: beside their place, moved in when they are
// finished, with what was written on the disk before. Whoever writes one holds a lock (flock(2)) on it, which ends with
// the process however that ends: so the files that a dead process has left are told from those of a living one, and
// several processes can share out what each of them would make.
package atomicfile
