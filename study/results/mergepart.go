package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// part is one of the folders that are merged.
type part struct {
	dir    string
	target bool   // it is the one that all goes into
	doc    *index // nil: the process that wrote the folder ended before it could
	world  string
	spec   []byte
	origin []byte // nil: there is none
	hosts  *Hosts
	named  map[string]bool // ids of doc
	runs   []*mergeable
}

// mergeable is a run's file of a part.
type mergeable struct {
	part    *part
	run     *plan.Run
	id      string
	sum     [sha256.Size]byte // of the file
	program program
	lists   []vouched
}

func (m *mergeable) file() string { return RunFile(m.part.dir, m.id) }

// program is what carried out a run.
type program struct {
	executable string // its SHA-256, or what else it is known by; "": not known
	generator  string // of traffic, in the lab
}

// vouched are files of a trace or of a capture with the list of their digests.
type vouched struct {
	list  string // its name below the folder
	text  []byte
	files []string // … and theirs
}

// problems are what is wrong with the folders.
type problems document.InputErrors

// mostProblems is how many are said.
const mostProblems = 20

func (p *problems) add(file, allowed, format string, args ...any) {
	*p = append(*p, document.InputError{File: file, Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...),
		Allowed: allowed})
}

// join adds an error that may be several.
func (p *problems) join(err error) error {
	var all document.InputErrors
	if errors.As(err, &all) {
		*p = append(*p, all...)
		return nil
	}
	return err
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	if n := len(p) - mostProblems; n > 0 {
		p = append(p[:mostProblems:mostProblems], document.InputError{Rest: true, Msg: fmt.Sprintf("and %d more", n)})
	}
	return document.InputErrors(p)
}

// openPart reads all of a folder but its runs.
func openPart(dir string) (*part, error) {
	p := &part{dir: dir, world: experiment.Sim, named: map[string]bool{}}
	var err error
	if p.spec, err = document.ReadFile(filepath.Join(dir, "spec.yaml"), document.LargestResult); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, wrong(dir, "spec.yaml", "this is no results folder: the file is not there")
		}
		return nil, wrong(dir, "spec.yaml", "it cannot be read: %v", document.Reason(err))
	}
	if strings.HasSuffix(filepath.Base(filepath.Clean(dir)), "-"+experiment.Lab) {
		p.world = experiment.Lab
	}
	if _, err := os.Stat(filepath.Join(dir, "runs.json")); !errors.Is(err, fs.ErrNotExist) {
		if p.doc, err = openIndex(dir); err != nil {
			return nil, err
		}
		p.world = p.doc.World
		for _, x := range p.doc.Runs {
			p.named[x.ID] = true
		}
	}
	if _, err := openOrigin(dir); err != nil {
		return nil, err
	}
	p.origin, err = document.ReadFile(filepath.Join(dir, "origin.json"), document.LargestResult)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrong(dir, "origin.json", "it cannot be read: %v", document.Reason(err))
	}
	p.hosts, err = ReadHosts(dir)
	return p, err
}

// name is the experiment's, by runs.json or, where whoever wrote the folder did not come to it, by the folder's name;
// "" if that is another one.
func (p *part) name() string {
	if p.doc != nil {
		return p.doc.Experiment
	}
	parts := folderForm.FindStringSubmatch(filepath.Base(filepath.Clean(p.dir)))
	hash := hashOf(p.spec)
	if parts == nil || parts[2] != hash[:hashLength] || (parts[4] != "") != (p.world == experiment.Lab) {
		return ""
	}
	if from, err := openOrigin(p.dir); err == nil && from != nil { // a name with slashes has lost them
		if words := shellWords(from.Command); len(words) > 2 && plainName(words[2]) == parts[1] {
			return words[2]
		}
	}
	return parts[1]
}

// hashOf is the hash of a spec as a results folder has it.
func hashOf(spec []byte) string { return fmt.Sprintf("%x", sha256.Sum256(spec)) }

// program is what carried out the part's runs, as people call it and by its revision: by origin.json, or else
// host.json.
func (p *part) program() (version, line string) {
	if from, err := openOrigin(p.dir); err == nil && from != nil && from.Program != "" {
		return from.Version, from.Program
	}
	lines := map[string]bool{}
	for _, m := range p.hosts.Machines {
		lines[m.Revision], line = true, m.Revision
	}
	if len(lines) > 1 {
		return "", severalKey
	}
	return "", line
}

// place is where a run is in the plan, whatever carried it out.
func place(point []measure.Coordinate, seed uint64) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(point), seed)
}

// read reads the runs of a part. What is damaged, or of something else, is told with all others.
func (x *merging) read(p *part, wrongs *problems) error {
	entries, err := os.ReadDir(filepath.Join(p.dir, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrongs.join(wrong(p.dir, "runs", "it cannot be read: %v", document.Reason(err)))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") { // somebody writes it, or has died over it
			continue
		}
		m, err := x.readRun(p, e.Name())
		if err != nil {
			if err := wrongs.join(err); err != nil {
				return err
			}
			continue
		}
		if p.counts(m) {
			p.runs = append(p.runs, m)
		} else {
			x.left = append(x.left, m)
		}
	}
	return nil
}

// readRun reads a file of a part's folder of runs.
func (x *merging) readRun(p *part, base string) (*mergeable, error) {
	name := filepath.Join("runs", base)
	id, is := strings.CutSuffix(base, ".json")
	if !is || !plan.IsID(id) {
		return nil, document.InputErrors{{File: filepath.Join(p.dir, name), Line: 1, Column: 1,
			Msg: "it is no file of a run", Allowed: "take it away"}}
	}
	data, err := document.ReadFile(filepath.Join(p.dir, name), document.LargestResult)
	if err != nil {
		return nil, wrong(p.dir, name, "it cannot be read: %v", document.Reason(err))
	}
	run, err := ReadRun(data)
	if err != nil {
		return nil, wrong(p.dir, name, "%v", err)
	}
	r := x.plan[place(run.Point, run.Seed)]
	if r == nil || (run.Attempts != nil) != (x.world == experiment.Lab) {
		return nil, wrong(p.dir, name, "it is no run of this experiment: %s seed %d", measure.PointName(run.Point), run.Seed)
	}
	if why := notThe(run, r, id); why != "" {
		return nil, wrong(p.dir, name, "it is damaged: %s", why)
	}
	m := &mergeable{part: p, run: r, id: id, sum: sha256.Sum256(data), program: x.programOf(p, r, id)}
	if m.lists, err = x.vouchedFiles(p.dir, run); err != nil {
		return nil, err
	}
	return m, nil
}

// counts reports whether a run is one of the folder's results. Files of programs that were there before, which
// runs.json does not name, are not.
func (p *part) counts(m *mergeable) bool {
	own := m.program.executable == revision.Executable()
	for _, h := range p.hosts.Machines {
		own = own || h.Executable == m.program.executable && h.Executable != ""
	}
	return p.doc == nil || p.named[m.id] || own
}

// programOf says what carried out a run: the id tells it, of programs that some host.json names. Of others host.json
// beside the run does, if it has one.
func (x *merging) programOf(p *part, r *plan.Run, id string) program {
	generators := []string{""}
	if x.world == experiment.Lab {
		generators = x.Generators
	}
	for _, executable := range x.executables {
		for _, g := range generators {
			if ID(r, executable, g) == id {
				return program{executable, g}
			}
		}
	}
	if p.doc != nil {
		for _, known := range p.doc.Programs {
			if slices.Contains(known.Runs, id) {
				return program{executable: known.Revision}
			}
		}
	}
	if p.named[id] && len(p.hosts.Machines) == 1 {
		return program{executable: p.hosts.Machines[0].Executable}
	}
	return program{}
}
