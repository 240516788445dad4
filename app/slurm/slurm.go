// Package slurm links Slurm into a program: --runner slurm of weir run, weir export slurm, weir task and weir collect.
package slurm

import (
	"weir/study/workers"
	"weir/study/workers/slurm"
)

func init() { workers.Slurm.Link(slurm.Cluster{}) }
