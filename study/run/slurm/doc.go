// Package slurm carries out the runs of an experiment as an array of a Slurm cluster. A Folder has all that the tasks
// of the array need, and keeps what they give: it can be submitted by hand, on another machine too, and collected. A
// Runner submits folders itself, follows them, and goes on with what is in the queue already.
package slurm
