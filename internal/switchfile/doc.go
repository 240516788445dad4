// Package switchfile reads the keys that experiments and files of weir switch share: programs, queues, buffers,
// and schedulers. Both use it, so that both refuse the same input with the same errors.
package switchfile
