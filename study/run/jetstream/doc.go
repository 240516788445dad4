// Package jetstream carries out the runs of an experiment on many machines: a queue of runs in NATS JetStream, workers
// that take them, and a coordinator, which is a run.Runner.
//
// Runs are published largest first into subjects by size class (Class), with one pull consumer a class that all workers
// share. A worker asks the largest class that fits it, then the smaller ones, and says now and then that it is still
// at it: if it does not, the server gives the run to another. A run's subject has its id, and the stream keeps one
// message a subject, so that publishing again what may have been lost puts nothing there twice. Experiments and results
// travel by content, through object stores.
//
// Nothing that comes back is trusted. A result must have its run's id and its own digest; each worker's first run and
// one in fifty after it are made again by another worker, or by the coordinator itself, and compared byte for byte. If
// they differ the coordinator makes the run itself, which decides, and all results of the one that lied are withdrawn.
// Until its first run is found right, nothing of a worker is kept. Two workers that lie alike are found when one of
// them is compared with somebody else. Credentials are one for all workers of a sweep: who has the join file is a
// worker.
package jetstream
