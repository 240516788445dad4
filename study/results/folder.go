package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// Open reads a results folder of Execute: its spec and the runs listed in runs.json. It judges the claims again. Runs
// of the spec that the folder lacks are missing in the outcome. For the lab it also opens the simulator's folder of the
// same experiment next to it (Counterpart). Errors in the folder are returned as InputErrors that name the file.
func Open(r *experiment.Registry, dir string) (*Outcome, error) {
	doc, err := readIndex(dir)
	if err != nil {
		return nil, err
	}
	return openWithIndex(r, dir, doc)
}

// openWithIndex opens a folder with the given content of runs.json.
func openWithIndex(r *experiment.Registry, dir string, doc *runIndex) (*Outcome, error) {
	from, unknown := readOrigin(dir)
	s, err := loadSpec(r, dir, doc.Experiment, from)
	if err != nil {
		return nil, err
	}
	if unknown != nil {
		return nil, unknown
	}
	o := &Outcome{Name: doc.Experiment, World: doc.World, Spec: s, Dir: dir, Programs: doc.Programs}
	if from != nil {
		o.Command, o.Version, o.Program = from.Command, from.Version, from.Program
	}
	if err := o.readRuns(doc); err != nil {
		return nil, err
	}
	if o.Hosts, err = ReadHosts(dir); err != nil {
		return nil, err
	}
	o.Claims = JudgeClaims(s, o.Runs, o.Seeds())
	if simulatorDir, ok := strings.CutSuffix(filepath.Clean(dir), "-"+experiment.Lab); ok && o.World == experiment.Lab {
		// Add the simulator's results of the same experiment, if they exist.
		if b, err := Open(r, simulatorDir); err == nil && b.World == experiment.Sim && b.Spec.Hash() == s.Hash() {
			o.Counterpart = b
		}
	}
	return o, nil
}

// loadSpec loads the spec of a results folder with its inputs. name is the experiment's name, and origin the origin of
// the spec; nil: unknown.
func loadSpec(r *experiment.Registry, dir, name string, origin *originFile) (*experiment.Spec, error) {
	src, err := r.OpenExperiment(filepath.Join(dir, "spec.yaml"))
	if err != nil {
		return nil, err
	}
	src.Name = name
	src.Open = func(name string) ([]byte, error) {
		return document.ReadFile(inputFile(dir, name), document.MaxInput)
	}
	return plan.Load(r, src, experiment.Options{Resolved: true, Origin: origin.specOrigin()})
}

// ReadUnfinished reads the experiment, the world and the command of a results folder without a runs.json: its execution
// is in progress or was interrupted. command is "" if it is unknown.
func ReadUnfinished(r *experiment.Registry, dir string) (s *experiment.Spec, world, command string, err error) {
	p, err := openPart(dir)
	if err != nil {
		return nil, "", "", err
	}
	from, err := readOrigin(dir)
	if err != nil {
		return nil, "", "", err
	}
	if from != nil {
		command = from.Command
	}
	s, err = loadSpec(r, dir, p.experimentName(), from)
	return s, p.world, command, err
}

// fileError returns an InputErrors about a file of a results folder. name is relative to dir.
func fileError(dir, name, format string, args ...any) error {
	return document.InputErrors{{File: filepath.Join(dir, name), Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...)}}
}

// runIndex holds the part of runs.json that Open needs.
type runIndex struct {
	Format     int          `json:"format"`
	Experiment string       `json:"experiment"`
	World      string       `json:"world"`
	Programs   []Program    `json:"programs"`
	Runs       []indexEntry `json:"runs"`
	Claims     []struct {
		Verdict claim.Verdict `json:"verdict"`
	} `json:"claims"`
}

// indexEntry is a run of runs.json.
type indexEntry struct {
	ID string `json:"id"`
}

// readIndex reads and checks runs.json. A missing file and another format are errors, as InputErrors.
func readIndex(dir string) (*runIndex, error) {
	const name = "runs.json"
	data, err := document.ReadFile(filepath.Join(dir, name), document.MaxResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fileError(dir, name, "the file is missing, so this is not a results folder")
	}
	if err != nil {
		return nil, fileError(dir, name, "the file cannot be read: %v", document.UnwrapPathError(err))
	}
	doc := &runIndex{}
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, fileError(dir, name, "the file is not one that weir writes: %v", err)
	}
	if doc.Format != Format {
		return nil, fileError(dir, name, "%v", formatError{doc.Format})
	}
	if doc.Experiment == "" {
		return nil, fileError(dir, name, "the file is not one that weir writes: it names no experiment")
	}
	return doc, nil
}

// readOrigin reads origin.json; nil, nil if the folder lacks it. Errors are InputErrors.
func readOrigin(dir string) (*originFile, error) {
	const name = "origin.json"
	data, err := document.ReadFile(filepath.Join(dir, name), document.MaxResult)
	if errors.Is(err, fs.ErrNotExist) { // older folders lack it
		return nil, nil
	}
	if err != nil {
		return nil, fileError(dir, name, "%v", err)
	}
	from := &originFile{}
	if err := json.Unmarshal(data, from); err != nil {
		return nil, fileError(dir, name, "the file is not one that weir writes: %v", err)
	}
	return from, nil
}

// specOrigin returns the part that the spec needs; nil for nil.
func (f *originFile) specOrigin() *experiment.Origin {
	if f == nil {
		return nil
	}
	return &experiment.Origin{Quick: f.Quick, Parameters: f.Parameters}
}

// readRuns reads the indexed runs, and stores those that count in the order of the spec. It also sets the choice of
// seeds and the number of missing runs. A missing or damaged file is an error.
func (o *Outcome) readRuns(doc *runIndex) error {
	at := map[string]*Run{}
	var all []*Run
	for _, x := range doc.Runs {
		if !plan.IsID(x.ID) {
			return fileError(o.Dir, "runs.json", "the file is not one that weir writes: no run has the id %q", x.ID)
		}
		name := filepath.Join("runs", x.ID+".json")
		data, err := document.ReadFile(filepath.Join(o.Dir, name), document.MaxResult)
		if err != nil {
			return fileError(o.Dir, name, "the file cannot be read: %v", document.UnwrapPathError(err))
		}
		run, err := ReadRun(data)
		switch other, damage := (formatError{}), (DamagedError{}); {
		case errors.As(err, &other), errors.As(err, &damage):
			return fileError(o.Dir, name, "%v", err)
		case err != nil:
			return fileError(o.Dir, name, "the file is not one that weir writes: %v", err)
		case run.ID != x.ID:
			return fileError(o.Dir, name, "the file is not one that weir writes: it is of the run %q", run.ID)
		}
		at[fmt.Sprintf("%s seed %d", measure.PointName(run.Point), run.Seed)] = run
		all = append(all, run)
	}
	o.Chosen = ChooseSeeds(o.Spec, all, o.World)
	for _, x := range plan.ListRunsOn(o.Spec, o.World) {
		if !o.Chosen.CountsSeed(x.Seed - o.Spec.Seed()) {
			continue
		}
		if run := at[fmt.Sprintf("%s seed %d", measure.PointName(x.Point), x.Seed)]; run != nil {
			o.Runs = append(o.Runs, run)
		} else {
			o.Missing++
		}
	}
	o.Found = len(o.Runs)
	return nil
}

// originFile is the file origin.json, with the origin of spec.yaml: the command and the parameters.
type originFile struct {
	Command    string                 `json:"command"`
	Version    string                 `json:"version"` // version of the program that executed the runs
	Program    string                 `json:"program"` // revision of that program; empty: several programs, or unknown
	Quick      bool                   `json:"quick"`
	Parameters []experiment.Parameter `json:"parameters"`
}

// FormatOrigin returns origin.json for an execution of an experiment by this program. command is its command line.
func FormatOrigin(s *experiment.Spec, command string) []byte {
	return formatOrigin(s, command, revision.Version(), revision.This().String())
}

// formatOrigin returns origin.json for an execution by any program.
func formatOrigin(s *experiment.Spec, command, version, program string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	e.Encode(originFile{command, version, program, s.Quick(), s.Parameters()}) // of strings, into memory
	return []byte(text.EscapeLines(b.String()))
}

// inputFile returns the path, below dir, of the copy of a file that the spec names. Files of the same base name get
// different paths.
func inputFile(dir, name string) string {
	name = filepath.ToSlash(name)
	h := sha256.Sum256([]byte(name))
	return filepath.Join(dir, "inputs", fmt.Sprintf("%x-%s", h[:4], path.Base(name)))
}

// WriteInputs copies the files that the spec names into the results folder and replaces existing copies. Without such
// files it creates no subfolder.
func WriteInputs(s *experiment.Spec, dir string) error {
	inputs := s.Inputs()
	for i, name := range slices.Sorted(maps.Keys(inputs)) {
		if i == 0 {
			if err := atomicfile.MkdirAll(filepath.Join(dir, "inputs")); err != nil {
				return fmt.Errorf("%s: the folder cannot be created: %w",
					filepath.Join(dir, "inputs"), document.UnwrapPathError(err))
			}
		}
		if err := WriteFile(inputFile(dir, name), inputs[name]); err != nil {
			return err
		}
	}
	return nil
}
