// Package remote has what runners on other machines share (study/run/slurm, study/run/jetstream): the parcel from
// which those machines load an experiment, the lock of a sweep's folder, and the sweep's journal. After a process was
// killed, the process that continues the sweep reads its state from the journal.
package remote
