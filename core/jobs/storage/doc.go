// Package storage models jobs in which hosts use storage servers. Before an iteration hosts read a batch; after a
// number of iterations they write a checkpoint, which the next iteration may or may not wait for. Both are formulas
// (job.Program), as they may have many messages.
package storage
