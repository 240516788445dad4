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

// Open reads a results folder that Execute has written: its spec, the runs that
// runs.json names, and the claims judged anew. Runs that the spec has and the folder
// does not are missing in the outcome. What is wrong with the folder is an
// InputErrors that names the file.
func Open(r *experiment.Registry, dir string) (*Outcome, error) {
	doc, err := openIndex(dir)
	if err != nil {
		return nil, err
	}
	return openAs(r, dir, doc)
}

// openAs is Open with what runs.json has, or is to have.
func openAs(r *experiment.Registry, dir string, doc *index) (*Outcome, error) {
	from, unknown := openOrigin(dir)
	s, err := specOf(r, dir, doc.Experiment, from)
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
	if err := o.openRuns(doc); err != nil {
		return nil, err
	}
	if o.Hosts, err = ReadHosts(dir); err != nil {
		return nil, err
	}
	o.Claims = Judge(s, o.Runs, o.Seeds())
	if beside, ok := strings.CutSuffix(filepath.Clean(dir), "-"+experiment.Lab); ok && o.World == experiment.Lab {
		// What the simulator has for the same; without it the lab's stands alone.
		if b, err := Open(r, beside); err == nil && b.World == experiment.Sim && b.Spec.Hash() == s.Hash() {
			o.Counterpart = b
		}
	}
	return o, nil
}

// specOf reads what a folder's results are of.
func specOf(r *experiment.Registry, dir, name string, from *originFile) (*experiment.Spec, error) {
	src, err := r.Open(filepath.Join(dir, "spec.yaml"))
	if err != nil {
		return nil, err
	}
	src.Name = name
	src.Open = func(name string) ([]byte, error) {
		return document.ReadFile(inputFile(dir, name), document.LargestInput)
	}
	return plan.Load(r, src, experiment.Options{Resolved: true, Origin: from.spec()})
}

// ReadUnfinished reads the experiment, the world and the command of a results folder whose execution goes on or was
// interrupted. It needs no runs.json.
func ReadUnfinished(r *experiment.Registry, dir string) (s *experiment.Spec, world, command string, err error) {
	p, err := openPart(dir)
	if err != nil {
		return nil, "", "", err
	}
	from, err := openOrigin(dir)
	if err != nil {
		return nil, "", "", err
	}
	if from != nil {
		command = from.Command
	}
	s, err = specOf(r, dir, p.name(), from)
	return s, p.world, command, err
}

// wrong is an error about a file of a results folder.
func wrong(dir, name, format string, args ...any) error {
	return document.InputErrors{{File: filepath.Join(dir, name), Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...)}}
}

// index is what Open takes of runs.json.
type index struct {
	Format     int       `json:"format"`
	Experiment string    `json:"experiment"`
	World      string    `json:"world"`
	Programs   []Program `json:"programs"`
	Runs       []indexed `json:"runs"`
	Claims     []struct {
		Verdict claim.Verdict `json:"verdict"`
	} `json:"claims"`
}

// indexed is a run of runs.json.
type indexed struct {
	ID string `json:"id"`
}

func openIndex(dir string) (*index, error) {
	const name = "runs.json"
	data, err := document.ReadFile(filepath.Join(dir, name), document.LargestResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wrong(dir, name, "this is no results folder: the file is not there")
	}
	if err != nil {
		return nil, wrong(dir, name, "it cannot be read: %v", document.Reason(err))
	}
	doc := &index{}
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, wrong(dir, name, "it is not what weir writes: %v", err)
	}
	if doc.Format != Format {
		return nil, wrong(dir, name, "%v", formatError{doc.Format})
	}
	if doc.Experiment == "" {
		return nil, wrong(dir, name, "it is not what weir writes: it names no experiment")
	}
	return doc, nil
}

// openOrigin reads where the spec comes from; nil if the folder does not say it.
func openOrigin(dir string) (*originFile, error) {
	const name = "origin.json"
	data, err := document.ReadFile(filepath.Join(dir, name), document.LargestResult)
	if errors.Is(err, fs.ErrNotExist) { // folders of before have none
		return nil, nil
	}
	if err != nil {
		return nil, wrong(dir, name, "%v", err)
	}
	from := &originFile{}
	if err := json.Unmarshal(data, from); err != nil {
		return nil, wrong(dir, name, "it is not what weir writes: %v", err)
	}
	return from, nil
}

// spec is what the spec is told of it; nil if nothing is known.
func (f *originFile) spec() *experiment.Origin {
	if f == nil {
		return nil
	}
	return &experiment.Origin{Quick: f.Quick, Parameters: f.Parameters}
}

// openRuns reads the runs that the index names, and puts those that count into the order of the spec's.
func (o *Outcome) openRuns(doc *index) error {
	at := map[string]*Run{}
	var all []*Run
	for _, x := range doc.Runs {
		if !plan.IsID(x.ID) {
			return wrong(o.Dir, "runs.json", "it is not what weir writes: no run has the id %q", x.ID)
		}
		name := filepath.Join("runs", x.ID+".json")
		data, err := document.ReadFile(filepath.Join(o.Dir, name), document.LargestResult)
		if err != nil {
			return wrong(o.Dir, name, "it cannot be read: %v", document.Reason(err))
		}
		run, err := ReadRun(data)
		switch other, damage := (formatError{}), (DamagedError{}); {
		case errors.As(err, &other), errors.As(err, &damage):
			return wrong(o.Dir, name, "%v", err)
		case err != nil:
			return wrong(o.Dir, name, "it is not what weir writes: %v", err)
		case run.ID != x.ID:
			return wrong(o.Dir, name, "it is not what weir writes: it has the run %q", run.ID)
		}
		at[fmt.Sprintf("%s seed %d", measure.PointName(run.Point), run.Seed)] = run
		all = append(all, run)
	}
	o.Chosen = Choose(o.Spec, all, o.World)
	for _, x := range plan.RunsOn(o.Spec, o.World) {
		if !o.Chosen.Counts(x.Seed - o.Spec.Seed()) {
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

// originFile is the file origin.json: what spec.yaml does not say of the file and the
// command that it was made of.
type originFile struct {
	Command    string                 `json:"command"`
	Version    string                 `json:"version"` // of the program that carried out the runs, as people call it
	Program    string                 `json:"program"` // its revision; empty: of several, or not known
	Quick      bool                   `json:"quick"`
	Parameters []experiment.Parameter `json:"parameters"`
}

// Origin is origin.json of what this program carries out.
func Origin(s *experiment.Spec, command string) []byte {
	return originOf(s, command, revision.Version(), revision.This().String())
}

// originOf is Origin for another program.
func originOf(s *experiment.Spec, command, version, program string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	e.Encode(originFile{command, version, program, s.Quick(), s.Parameters()}) // of strings, into memory
	return []byte(text.Lines(b.String()))
}

// inputFile is where a results folder keeps a file that the spec names, wherever that
// lies: two of one base name are told apart.
func inputFile(dir, name string) string {
	name = filepath.ToSlash(name)
	h := sha256.Sum256([]byte(name))
	return filepath.Join(dir, "inputs", fmt.Sprintf("%x-%s", h[:4], path.Base(name)))
}

// WriteInputs keeps the files that the spec names with the results.
func WriteInputs(s *experiment.Spec, dir string) error {
	inputs := s.Inputs()
	for i, name := range slices.Sorted(maps.Keys(inputs)) {
		if i == 0 {
			if err := atomicfile.MkdirAll(filepath.Join(dir, "inputs")); err != nil {
				return fmt.Errorf("%s: it cannot be made: %w", filepath.Join(dir, "inputs"), document.Reason(err))
			}
		}
		if err := WriteFile(inputFile(dir, name), inputs[name]); err != nil {
			return err
		}
	}
	return nil
}
