package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/study/run/remote"
)

// Files and folders of a Folder. It also has scripts, and the resolved spec.yaml for users.
const (
	manifest = "job.json"
	inputs   = "inputs" // the experiment's files, by digest
	program  = "weir"   // a copy of the program that executes the tasks
	logs     = "log"    // output of the tasks, one file each: JOB_TASK.txt
	failures = "failed" // errors of failed runs, one file each
)

// formatVersion is the version of job.json that this program writes and reads.
const formatVersion = 1

// JobFile is the content of job.json: the runs of a sweep by task.
type JobFile struct {
	Format     int               `json:"format"`
	Name       string            `json:"name"`       // job's name in the queue
	Experiment json.RawMessage   `json:"experiment"` // manifest from remote.PackParcel
	Command    string            `json:"command"`    // command that created the folder
	Executable string            `json:"executable_sha256"`
	Revision   revision.Revision `json:"revision"`
	Arrays     []Array           `json:"arrays"`
	Tasks      [][]string        `json:"tasks"` // ids of each task's runs
}

// Folder has a sweep for Slurm: the experiment, the runs by task, scripts for sbatch, and the results of the tasks.
type Folder struct {
	Dir  string
	Job  JobFile
	Spec *experiment.Spec

	runs     map[string]*plan.Run // runs of the experiment, by id
	commands commands
}

// ExportFolder writes a folder for runs of an experiment: tasks, scripts, and a copy of the program at the path
// executable, which must have this program's revision. A folder that has a sweep already is an error, since it may have
// results.
func ExportFolder(dir string, w *run.Work, runs []*plan.Run, executable string, o Options) (*Folder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if whole, err := filepath.Abs(dir); err != nil || strings.ContainsAny(whole, `%\`) {
		return nil, fmt.Errorf("%s: the path contains %% or \\, and Slurm cannot write logs there; choose another path", dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, manifest)); err == nil {
		return nil, document.InputErrors{{File: filepath.Join(dir, manifest), Line: 1, Column: 1,
			Msg: "the folder already contains a sweep", Allowed: "another folder, or move this one elsewhere"}}
	}
	parcel, files := remote.PackParcel(w.Spec)
	f := &Folder{Dir: dir, Spec: w.Spec, runs: plan.IndexByID(runs, w.Executable)}
	f.Job = JobFile{Format: formatVersion, Name: jobName(w.Spec.Name()), Experiment: parcel, Command: w.Command,
		Executable: w.Executable, Revision: revision.This()}
	f.Job.Arrays, f.Job.Tasks = partition(estimateLoads(runs, w.Executable), o)
	for _, name := range []string{"runs", failures, logs, inputs} {
		if err := atomicfile.MkdirAll(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("%s: the folder cannot be created: %w",
				filepath.Join(dir, name), document.UnwrapPathError(err))
		}
	}
	for digest, data := range files {
		if err := results.WriteFile(filepath.Join(dir, inputs, digest), data); err != nil {
			return nil, err
		}
	}
	if err := results.WriteFile(filepath.Join(dir, "spec.yaml"), w.Spec.Resolved()); err != nil {
		return nil, err
	}
	if err := copyProgram(filepath.Join(dir, program), executable); err != nil {
		return nil, err
	}
	for i := range f.Job.Arrays {
		if err := results.WriteFile(filepath.Join(dir, f.Job.Arrays[i].Script), f.renderScript(i, o)); err != nil {
			return nil, err
		}
	}
	data, _ := json.Marshal(f.Job) // strings and numbers can always be encoded
	return f, results.WriteFile(filepath.Join(dir, manifest), results.IndentJSON(data))
}

// copyProgram copies a program and makes the copy executable.
func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("%s: the program cannot be read: %w", from, document.UnwrapPathError(err))
	}
	defer in.Close()
	f, err := atomicfile.Create(to)
	if err == nil {
		if _, err = io.Copy(f, in); err == nil {
			err = f.Commit()
		}
		f.Discard()
	}
	if err == nil {
		err = os.Chmod(to, 0o755)
	}
	return results.WrapWriteError(to, err)
}

// OpenFolder reads a folder that ExportFolder has written. It returns an error if job.json is missing or damaged, or
// the experiment lacks one of the runs.
func OpenFolder(r *experiment.Registry, dir string) (*Folder, error) {
	job, err := openJob(dir)
	if err != nil {
		return nil, err
	}
	s, err := remote.UnpackParcel(r, job.Experiment, func(digest string) ([]byte, error) {
		return readInput(dir, digest)
	})
	if err != nil {
		return nil, jobError(dir, "the experiment cannot be read: %v", err)
	}
	f := &Folder{Dir: dir, Job: *job, Spec: s, runs: plan.IndexByID(plan.ListRuns(s), job.Executable)}
	for _, ids := range job.Tasks {
		for _, id := range ids {
			if f.runs[id] == nil {
				return nil, jobError(dir, "the experiment has no run %q, because the file was changed, or another version of "+
					"weir reads the experiment differently", id)
			}
		}
	}
	return f, nil
}

// readInput reads an input by its digest. It follows no link inside the folder: neither the file nor its folder may
// be one.
func readInput(dir, digest string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(inputs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", inputs)
	}
	name := filepath.Join(inputs, digest)
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return document.ReadStream(f, document.MaxInput)
}

// openJob reads and checks job.json of a folder.
func openJob(dir string) (*JobFile, error) {
	data, err := document.ReadFile(filepath.Join(dir, manifest), document.MaxResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, jobError(dir, "the file is missing, so this is not a folder of weir export slurm")
	}
	if err != nil {
		return nil, jobError(dir, "the file cannot be read: %v", document.UnwrapPathError(err))
	}
	return readJob(dir, data)
}

// readJob decodes and checks the data of job.json. It rejects names that lead outside the folder.
func readJob(dir string, data []byte) (*JobFile, error) {
	job := &JobFile{}
	if err := json.Unmarshal(data, job); err != nil {
		return nil, jobError(dir, "the file is not one that weir writes: %v", err)
	}
	if job.Format != formatVersion {
		return nil, jobError(dir, "the file has format %d; this version of weir supports format %d",
			job.Format, formatVersion)
	}
	for _, ids := range job.Tasks {
		for _, id := range ids {
			if !plan.IsID(id) {
				return nil, jobError(dir, "the file is not one that weir writes: no run has the id %q", id)
			}
		}
	}
	for _, a := range job.Arrays {
		if a.Script != filepath.Base(a.Script) || a.First < 0 || a.Last < a.First || a.Last >= len(job.Tasks) {
			return nil, jobError(dir, "the file is not one that weir writes: there is no array %q of tasks %d to %d",
				a.Script, a.First,
				a.Last)
		}
	}
	return job, nil
}

// jobError returns an error about job.json.
func jobError(dir, format string, args ...any) error {
	return document.InputErrors{{File: filepath.Join(dir, manifest), Line: 1, Column: 1,
		Msg: fmt.Sprintf(format, args...)}}
}

// CheckProgram returns an error if another program wrote the folder: the results of this program could differ in their
// bytes.
func (f *Folder) CheckProgram() error {
	if ok, why := revision.Compare(revision.This(), f.Job.Revision); !ok {
		return fmt.Errorf("another program wrote %s (%s); run and collect it with %s, or allow this program with "+
			"--any-program", f.Dir, why, filepath.Join(f.Dir, program))
	}
	return nil
}

// readResult returns the encoded result of a run, or nil if it has no valid one. It removes a damaged result.
func (f *Folder) readResult(id string) []byte {
	name := results.RunFile(f.Dir, id)
	data, err := document.ReadFile(name, document.MaxResult)
	if err != nil {
		return nil
	}
	if _, err := results.VerifyRun(data, f.runs[id], id); err != nil {
		os.Remove(name)
		return nil
	}
	return data
}

// readFailure returns the error of a failed run, or "".
func (f *Folder) readFailure(id string) string {
	data, err := document.ReadFile(f.failureFile(id), document.MaxFile)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// failureFile returns the name of the file with a run's error.
func (f *Folder) failureFile(id string) string { return filepath.Join(f.Dir, failures, id+".txt") }
