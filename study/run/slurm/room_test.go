package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
)

func room() *experiment.Registry {
	return plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
}

// six has short runs at three points.
const six = `duration: 100ms
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 5Mbps, delay: 1ms, buffer: 24 packets}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: $rate, start: 0s}]
sweep: {rate: [1Mbps, 4Mbps, 8Mbps]}
repeat: 2
measure: [goodput]
`

// three has a run that panics, and two that do not.
const three = `duration: 100ms
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 5Mbps, delay: 1ms, buffer: 24 packets}]
traffic: [{name: x, from: a, to: b, transport: udp, rate: 1Mbps, start: 0s}]
sweep: {x: {one: {switch: [forward]}, bad: {switch: [crash]}, two: {switch: [forward, ecmp]}}}
repeat: 1
measure: [goodput]
`

// quick returns options for tasks of one run each.
func quick() Options { return Options{Task: 1e6, Tasks: 100, Threads: 1} }

// exported writes a folder of an experiment, with a small file for the program.
func exported(t *testing.T, text string, o Options) *Folder {
	t.Helper()
	s := plantest.Load(t, room(), text, experiment.Options{})
	f, err := ExportFolder(filepath.Join(t.TempDir(), "job"), &run.Work{Spec: s, Command: "weir run test.yaml",
		Executable: "e"},
		plan.ListRuns(s), small(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// small is a file in place of the program.
func small(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// local executes an experiment in this process, and returns its folder.
func local(t *testing.T, text string) string {
	t.Helper()
	out, err := run.Execute(t.Context(), plantest.Load(t, room(), text, experiment.Options{}),
		run.Options{Dir: t.TempDir(), Executable: "e", Command: "weir run test.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return out.Dir
}

// contents returns the files of a folder without host.json.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "host.") {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
