// Package storage is what hosts of a job and storage servers do with each other: before an iteration hosts read a
// batch, and after so many iterations they write a checkpoint, which the next iteration waits for or not. Both are
// formulas (job.Program), as their messages may be many.
package storage
