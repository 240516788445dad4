// Package slurm executes the runs of an experiment as job arrays of a Slurm cluster. A Folder has all files that the
// tasks of the array need and receives their results. It can be submitted by hand, also on another machine, and
// collected later. A Runner submits folders itself, follows their jobs, and continues with tasks that are already in
// the queue.
package slurm
