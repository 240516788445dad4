// Package remote holds what runners on other machines share (study/run/slurm, study/run/jetstream): the parcel by which
// those machines load an experiment, the lock of a sweep's folder, and its journal. From the journal a process that
// continues after another one was killed reads what has happened.
package remote
