// Package jetstream executes the runs of an experiment on many machines. It has a queue of runs in NATS JetStream,
// workers that take runs, and a coordinator, which is a run.Runner.
//
// Runs are published largest first into subjects by size class (sizeClass). Each class has one pull consumer that all
// workers share. A worker polls the largest class that fits it, then the smaller ones, and reports progress
// periodically. If the reports stop, the server gives the run to another worker. A run's subject contains its id, and
// the stream keeps one message per subject, so that publishing a run again does not duplicate it. Experiments and
// results are addressed by content in object stores.
//
// The coordinator does not trust results. A result must have its run's id and its own digest. Each worker's first run
// and one in fifty of its later runs are computed again by another worker or by the coordinator, and compared byte
// for byte. If they differ, the coordinator computes the run itself, and all results of the worker with the wrong
// result are withdrawn. Results of a worker are held until its first run is verified. Two workers that agree on a
// wrong result are found when one of them is compared with a third. All workers of a sweep share one credential: any
// process with the join file can be a worker.
package jetstream
