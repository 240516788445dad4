package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
)

// Folder is the experiment's results folder below dir, of a world and of this program: a program that may compute other
// bytes has another one. Of a file's name that would act on a terminal the folder has the escaped form, without
// backslashes, which separate folders on some systems.
func Folder(s *experiment.Spec, dir, world string) string {
	return folderOf(s, dir, world, revision.This().Key())
}

// folderOf is Folder for the program with that key.
func folderOf(s *experiment.Spec, dir, world, key string) string {
	return filepath.Join(dir, folderName(s.Name(), s.Hash(), key, world))
}

const hashLength = 12 // characters of the spec's hash in a folder's name

func folderName(spec, hash, key, world string) string {
	name := plainName(spec) + "-" + hash[:min(len(hash), hashLength)] + "-" + key
	if world != experiment.Sim {
		name += "-" + world
	}
	return name
}

// plainName is an experiment's name in that of a folder.
func plainName(experiment string) string {
	return strings.NewReplacer("/", "-", `\`, "-").Replace(text.Shown(experiment))
}

// folderForm is how folders are named: by experiment, hash, the program's key, which those of older versions lack, and
// the world.
var folderForm = regexp.MustCompile(fmt.Sprintf(`^(.+)-([0-9a-f]{%d})(?:-([0-9a-f]{%d}|%s))?(-%s)?$`, hashLength,
	revision.KeyLength, severalKey, experiment.Lab))

// severalKey stands for the key of a folder that has runs of several programs, which only merging makes.
const severalKey = "several"

// Kept says how much of the experiment is in the results folder, and what to do about
// the rest.
func (o *Outcome) Kept() string {
	all, of := len(o.Runs)+len(o.Failed)+o.Missing, ""
	if o.Chosen != nil && o.Chosen.State == Pending {
		of = "at least "
	}
	switch {
	case o.Untraced > 0:
		return fmt.Sprintf("%d of %s%d runs are finished and kept, %d of them without the trace; the same command goes "+
			"on with the rest", len(o.Runs), of, all, o.Untraced)
	case len(o.Runs) == all && of == "" && all == 1:
		return "the only run is finished and kept"
	case len(o.Runs) == all && of == "":
		return fmt.Sprintf("all %d runs are finished and kept", all)
	}
	return fmt.Sprintf("%d of %s%d runs are finished and kept; the same command goes on with the rest", len(o.Runs), of,
		all)
}

// ID is the name of a run's result: of the program with that revision.Executable and, in the lab, the generator of
// traffic.
func ID(r *plan.Run, executable, generator string) string {
	if generator != "" {
		executable += " lab " + generator
	}
	return r.ID(executable)
}

func RunFile(dir, id string) string {
	return filepath.Join(dir, "runs", id+".json")
}

// WriteFile writes a file of a results folder so that a reader sees the old one or the
// new one, never a part. The error names the file.
func WriteFile(name string, data []byte) error {
	return Unwritten(name, atomicfile.Write(name, data))
}

// Unwritten is the error that a file cannot be written; nil if err is.
func Unwritten(name string, err error) error {
	if err == nil {
		return nil
	}
	if info, bad := os.Stat(name); bad == nil && !info.Mode().IsRegular() { // the system says that a file exists
		err = &document.NotRegular{Mode: info.Mode()}
	}
	return fmt.Errorf("%s: it cannot be written: %w", name, document.Reason(err))
}

// MakeFolder makes the results folder, without what dead processes have left of files in it.
func MakeFolder(dir string) error {
	if err := atomicfile.MkdirAll(filepath.Join(dir, "runs")); err != nil {
		return fmt.Errorf("%s: the results folder cannot be made: %w", dir, document.Reason(err))
	}
	for _, below := range append([]string{""}, ownFolders...) {
		atomicfile.Sweep(filepath.Join(dir, below))
	}
	return nil
}

func Indent(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err) // what this file has written is JSON
	}
	b.WriteByte('\n')
	return b.Bytes()
}
