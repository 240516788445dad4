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

// FolderPath returns the path of the experiment's results folder below dir, for a world and this program. A program
// that may compute different bytes has another folder. It does not create the folder. Characters of the name that would
// act on a terminal are escaped without backslashes, which some systems use as path separators.
func FolderPath(s *experiment.Spec, dir, world string) string {
	return folderPath(s, dir, world, revision.This().FolderKey())
}

// folderPath returns the path of FolderPath for the program with the given key.
func folderPath(s *experiment.Spec, dir, world, key string) string {
	return filepath.Join(dir, folderName(s.Name(), s.Hash(), key, world))
}

const hashLength = 12 // characters of the spec's hash in a folder's name

// folderName returns the folder's name from the experiment's name, its hash, the program's key and the world.
func folderName(spec, hash, key, world string) string {
	name := folderSafeName(spec) + "-" + hash[:min(len(hash), hashLength)] + "-" + key
	if world != experiment.Sim {
		name += "-" + world
	}
	return name
}

// folderSafeName replaces characters of an experiment's name that folder names must not have.
func folderSafeName(experiment string) string {
	return strings.NewReplacer("/", "-", `\`, "-").Replace(text.EscapeLine(experiment))
}

// folderPattern matches names of results folders: experiment, hash, key of the program (older versions lack it), and
// world.
var folderPattern = regexp.MustCompile(fmt.Sprintf(`^(.+)-([0-9a-f]{%d})(?:-([0-9a-f]{%d}|%s))?(-%s)?$`, hashLength,
	revision.KeyLength, severalKey, experiment.Lab))

// severalKey replaces the program's key in the name of a merged folder with runs of several programs.
const severalKey = "several"

// DescribeKept describes how much of the experiment is in the results folder, and how to continue if runs are missing.
func (o *Outcome) DescribeKept() string {
	all, qualifier := len(o.Runs)+len(o.Failed)+o.Missing, ""
	if o.Chosen != nil && o.Chosen.State == Pending {
		qualifier = "at least "
	}
	switch {
	case o.Untraced > 0:
		return fmt.Sprintf("%d of %s%d runs are finished and kept, %d of them without a trace; the same command continues "+
			"with the rest", len(o.Runs), qualifier, all, o.Untraced)
	case len(o.Runs) == all && qualifier == "" && all == 1:
		return "the only run is finished and kept"
	case len(o.Runs) == all && qualifier == "":
		return fmt.Sprintf("all %d runs are finished and kept", all)
	}
	return fmt.Sprintf("%d of %s%d runs are finished and kept; the same command continues with the rest", len(o.Runs),
		qualifier,
		all)
}

// RunID returns the id of a run's result by the program with the given revision.Executable and, in the lab, the traffic
// generator; "": the simulator.
func RunID(r *plan.Run, executable, generator string) string {
	if generator != "" {
		executable += " lab " + generator
	}
	return r.ID(executable)
}

// RunFile returns the path of a run's file in a results folder.
func RunFile(dir, id string) string {
	return filepath.Join(dir, "runs", id+".json")
}

// WriteFile writes a file of a results folder atomically: a reader sees the old or the new content. The folder must
// exist. The error names the file.
func WriteFile(name string, data []byte) error {
	return WrapWriteError(name, atomicfile.Write(name, data))
}

// WrapWriteError wraps err as an error about writing the file name; nil for nil.
func WrapWriteError(name string, err error) error {
	if err == nil {
		return nil
	}
	if info, bad := os.Stat(name); bad == nil && !info.Mode().IsRegular() { // the system only reports that a file exists
		err = &document.NotRegularError{Mode: info.Mode()}
	}
	return fmt.Errorf("%s: the file cannot be written: %w", name, document.UnwrapPathError(err))
}

// MakeFolder creates the results folder with its subfolder of runs unless they exist, and removes unfinished files of
// ended processes from it.
func MakeFolder(dir string) error {
	if err := atomicfile.MkdirAll(filepath.Join(dir, "runs")); err != nil {
		return fmt.Errorf("%s: the results folder cannot be created: %w", dir, document.UnwrapPathError(err))
	}
	for _, below := range append([]string{""}, resultFolders...) {
		atomicfile.RemoveUnfinished(filepath.Join(dir, below))
	}
	return nil
}

// IndentJSON returns JSON indented by two spaces, with a final line break. It panics if raw is not valid JSON.
func IndentJSON(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err) // this package has written valid JSON
	}
	b.WriteByte('\n')
	return b.Bytes()
}
