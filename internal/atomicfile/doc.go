// Package atomicfile writes files that are complete whenever they exist: next to their place, moved there when finished
// and written to the disk. The writer of a file holds a lock (flock(2)) on it, which ends with the process in any case.
// So files of a dead process differ from those of a living one, and several processes can divide files among them that
// each of them could make.
package atomicfile
