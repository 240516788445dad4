// Package switchfile reads the keys that experiments and the files of weir switch share:
// programs, queues, their bounds, and what serves them. It lies below both, so that both
// refuse the same with the same words.
package switchfile
