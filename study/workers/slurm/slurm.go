// Package slurm runs experiments on a Slurm cluster: weir run --runner slurm, weir export slurm, task and collect.
package slurm

import (
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/slurm"
	"weir/study/workers"
)

// Cluster implements workers.Cluster.
type Cluster struct{}

// Check returns an error for invalid options.
func (Cluster) Check(o workers.ClusterOptions) error {
	x := slurm.Options(o)
	return x.Check()
}

// Runner returns a runner that submits tasks and waits for them.
func (Cluster) Runner(o workers.ClusterOptions, notice func(text string)) run.Runner {
	return &slurm.Runner{Options: slurm.Options(o), Notice: notice}
}

// Export writes a folder for a cluster and returns its job arrays.
func (Cluster) Export(dir string, w *run.Work, runs []*plan.Run, executable string,
	o workers.ClusterOptions) (*workers.ExportedFolder, error) {
	f, err := slurm.ExportFolder(dir, w, runs, executable, slurm.Options(o))
	if err != nil {
		return nil, err
	}
	x := &workers.ExportedFolder{Dir: f.Dir}
	for _, a := range f.Job.Arrays {
		n := 0
		for _, ids := range f.Job.Tasks[a.First : a.Last+1] {
			n += len(ids)
		}
		x.Arrays = append(x.Arrays, workers.ClusterArray{Script: a.Script, Tasks: a.Last - a.First + 1, Runs: n,
			MemoryBytes: a.MemoryBytes, Minutes: a.Minutes})
	}
	return x, nil
}

// Open reads a folder that Export has written.
func (Cluster) Open(r *experiment.Registry, dir string) (workers.ClusterFolder, error) {
	f, err := slurm.OpenFolder(r, dir)
	if err != nil {
		return nil, err
	}
	return clusterFolder{f}, nil
}

// clusterFolder implements workers.ClusterFolder.
type clusterFolder struct{ *slurm.Folder }

func (f clusterFolder) Spec() *experiment.Spec               { return f.Folder.Spec }
func (f clusterFolder) Origin() (command, executable string) { return f.Job.Command, f.Job.Executable }
func (f clusterFolder) Tasks() int                           { return len(f.Job.Tasks) }
func (f clusterFolder) Collector() workers.Collector         { return f.Folder.NewCollector() }
