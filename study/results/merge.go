package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// MergeOptions configures MergeFolders.
type MergeOptions struct {
	Parent     string // parent of the merged folder, like --out of weir run
	AnyProgram bool   // also merge runs of different programs
	// Generators are the names of traffic generators in the lab; runs of different generators are different runs.
	Generators []string
	// OnNotice is called with a text about runs that are left out without an error.
	OnNotice func(text string)
	// Report writes further files of the outcome into its folder, while the folder is locked.
	Report func(*Outcome) error
}

// MergeResult is the result of MergeFolders.
type MergeResult struct {
	*Outcome
	Folders    int // number of given folders
	New        int // runs that the merged folder lacked
	Duplicates int // runs that several folders had with the same bytes
}

// MergeFolders merges results folders of one experiment into one, as if one machine had executed all runs. It checks
// all folders before it writes. Errors in the folders are returned as InputErrors. Other errors are about writing, or
// the error of an ended ctx; merged runs are kept then, and the same call continues. An existing merged folder takes
// part in the merge.
func MergeFolders(ctx context.Context, r *experiment.Registry, dirs []string, m MergeOptions) (*MergeResult, error) {
	x := &merger{MergeOptions: m, registry: r}
	if err := x.openParts(dirs); err != nil {
		return nil, err
	}
	x.executables = []string{revision.Executable()}
	for _, p := range x.parts {
		for _, h := range p.hosts.Machines {
			if h.Executable != "" && !slices.Contains(x.executables, h.Executable) {
				x.executables = append(x.executables, h.Executable)
			}
		}
	}
	var wrongs problems
	for _, p := range x.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := x.readRunFiles(p, &wrongs); err != nil {
			return nil, err
		}
	}
	if err := wrongs.asError(); err != nil {
		return nil, err
	}
	if err := x.chooseRuns(); err != nil {
		return nil, err
	}
	x.reportLeftOut()
	if err := x.writeFolder(ctx); err != nil {
		if !errors.As(err, &document.InputErrors{}) {
			err = fmt.Errorf("%w; %d of %d runs are merged and kept; the same command continues with the rest", err, x.keptCount,
				len(x.chosen))
		}
		return nil, err
	}
	return x.writeResults()
}

// merger is the state of MergeFolders.
type merger struct {
	MergeOptions
	registry    *experiment.Registry
	parts       []*mergePart
	givenCount  int // number of named parts
	name, world string
	spec        *experiment.Spec
	command     string
	hasOrigin   bool   // the origin is known
	version     string // version of the program that executed the runs; "": several programs
	program     string // revision of that program
	dir         string
	plan        map[string]*plan.Run // by planKey
	order       []*plan.Run
	executables []string // digests of known programs
	leftOut     []*mergeRun
	chosen      []*mergeRun                       // one for each run, in the order of the plan
	duplicates  []string                          // ids of runs that several folders had
	lists       map[string]map[string][]*mergeRun // by run and name of the digest list: the files with that list
	programs    []Program                         // nil for a single program
	keptCount   int                               // number of chosen runs that the merged folder has
	added       []string                          // ids of runs that were copied
}

// openParts opens the folders, merges their specs, and opens the target folder.
func (x *merger) openParts(dirs []string) error {
	var wrongs problems
	for _, dir := range dirs {
		if x.hasPart(dir) { // named twice
			continue
		}
		p, err := openPart(dir)
		if err := wrongs.joinError(err); err != nil {
			return err
		}
		if p != nil && err == nil {
			x.parts = append(x.parts, p)
		}
	}
	if err := wrongs.asError(); err != nil {
		return err
	}
	x.givenCount = len(x.parts)
	if err := x.agreeOnName(); err != nil {
		return err
	}
	text, from, base, err := mergeSpecs(x.parts)
	if err != nil {
		return err
	}
	if err := x.loadExperiment(text, from, base); err != nil {
		return err
	}
	if err := x.openTarget(); err != nil {
		return err
	}
	return x.checkInputs(base)
}

// hasPart reports whether a folder is one of the parts.
func (x *merger) hasPart(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false // opening it reports the error
	}
	return slices.ContainsFunc(x.parts, func(p *mergePart) bool {
		other, err := os.Stat(p.dir)
		return err == nil && os.SameFile(info, other)
	})
}

// agreeOnName sets the name and the world of all parts. It returns an error if they differ, or if no part has a name.
func (x *merger) agreeOnName() error {
	x.world = x.parts[0].world
	var named *mergePart
	for _, p := range x.parts {
		if p.world != x.world {
			return document.InputErrors{{File: p.dir, Line: 1, Column: 1, Msg: fmt.Sprintf("the folder has results of the %s, "+
				"but %s has results of the %s; simulated and measured runs cannot be merged", worldName(p.world), x.parts[0].dir,
				worldName(x.world)), Allowed: "first folders of the simulator only, then folders of the lab into the same folder"}}
		}
		name := p.experimentName()
		switch {
		case name == "":
		case named == nil:
			named, x.name = p, name
		case name != x.name:
			return fileError(p.dir, "runs.json", "the experiment has the name %q, but in %s the name %q; merge folders of one "+
				"experiment", name, named.dir, x.name)
		}
	}
	if named == nil {
		return fileError(x.parts[0].dir, "runs.json", "no folder has this file, and the folders were renamed, so the name "+
			"of the experiment is unknown; weir run with the same options and --out writes the file")
	}
	return nil
}

// worldName returns the name of a world in messages.
func worldName(world string) string {
	if world == experiment.Lab {
		return "lab"
	}
	return "simulator"
}

// loadExperiment loads the merged experiment, and sets spec, command, program and plan of x. text is its resolved spec,
// origin its origin (nil: unknown), and base the part with its input files. It returns an error if this version would
// write another spec.
func (x *merger) loadExperiment(text []byte, origin *originFile, base *mergePart) error {
	name := filepath.Join(base.dir, "spec.yaml")
	src, err := x.registry.OpenExperiment(name)
	if err != nil {
		return err
	}
	src.Name, src.Data = x.name, text
	src.Open = func(name string) ([]byte, error) {
		return document.ReadFile(inputFile(base.dir, name), document.MaxInput)
	}
	if x.spec, err = plan.Load(x.registry, src, experiment.Options{Resolved: true,
		Origin: origin.specOrigin()}); err != nil {
		return err
	}
	if !bytes.Equal(x.spec.Resolved(), text) {
		return document.InputErrors{{File: name, Line: 1, Column: 1,
			Msg:     "another version of weir wrote the file, or it was changed",
			Allowed: "the version of weir that wrote it"}}
	}
	if x.hasOrigin = origin != nil; x.hasOrigin {
		x.command = origin.Command
	}
	x.findProgram()
	x.plan, x.order = map[string]*plan.Run{}, plan.ListRunsOn(x.spec, x.world)
	for _, r := range x.order {
		x.plan[planKey(r.Point, r.Seed)] = r
	}
	return nil
}

// findProgram sets the program of the parts, or severalKey if they differ. It sets no version then.
func (x *merger) findProgram() {
	for k, p := range x.parts {
		version, program := p.findProgram()
		if k > 0 && program != x.program {
			x.version, x.program = "", severalKey
			return
		}
		x.version, x.program = version, program
	}
}

// folderKey returns the program's key in the merged folder's name: for an unknown program, the key of this one.
func (x *merger) folderKey() string {
	r, err := revision.Parse(x.program)
	switch {
	case x.program == severalKey:
		return severalKey
	case err != nil: // unknown
		return revision.This().FolderKey()
	}
	return r.FolderKey()
}

// openTarget determines the target folder. An existing one with results becomes a part. It returns an error if the
// parent is itself a results folder.
func (x *merger) openTarget() error {
	if _, err := os.Stat(filepath.Join(x.Parent, "spec.yaml")); err == nil {
		return document.InputErrors{{File: x.Parent, Line: 1, Column: 1, Msg: "this folder is itself a results folder",
			Allowed: "the parent folder of results folders, like --out of weir run"}}
	}
	x.dir = folderPath(x.spec, x.Parent, x.world, x.folderKey())
	if err := CheckFolder(x.spec, x.dir); err != nil {
		return err
	}
	info, err := os.Stat(x.dir)
	if err != nil {
		return nil // it is going to be created
	}
	for _, p := range x.parts {
		if other, err := os.Stat(p.dir); err == nil && os.SameFile(info, other) {
			p.target = true
			return nil
		}
	}
	if _, err := os.Stat(filepath.Join(x.dir, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil // it is empty
	}
	p, err := openPart(x.dir)
	if err != nil {
		return err
	}
	p.target = true
	x.parts = append(x.parts, p)
	return nil
}

// checkInputs returns an error if an input file differs between the parts, or if a part lacks it. An unfinished target
// may lack files.
func (x *merger) checkInputs(base *mergePart) error {
	var wrongs problems
	for name, want := range x.spec.Inputs() {
		for _, p := range x.parts {
			file := inputFile(p.dir, name)
			data, err := document.ReadFile(file, document.MaxInput)
			switch {
			case errors.Is(err, fs.ErrNotExist) && p.target && p.doc == nil: // the execution ended before it was written
			case err != nil:
				wrongs.addError(file, "", "the file cannot be read: %v", document.UnwrapPathError(err))
			case !bytes.Equal(data, want):
				wrongs.addError(file, "", "the file differs from %s, so the runs have different inputs", inputFile(base.dir, name))
			}
		}
	}
	slices.SortFunc(wrongs, func(a, b document.InputError) int { return cmp.Compare(a.File, b.File) })
	return wrongs.asError()
}

// reportLeftOut reports the number of files that are left out of each part to OnNotice, except files that another part
// contributes.
func (x *merger) reportLeftOut() {
	taken, left := map[string]bool{}, map[*mergePart]int{}
	for _, m := range x.chosen {
		taken[m.id] = true
	}
	for _, m := range x.leftOut {
		if !taken[m.id] {
			left[m.part]++
		}
	}
	for _, p := range x.parts {
		if n := left[p]; n > 0 && x.OnNotice != nil {
			files := "1 file of runs is"
			if n > 1 {
				files = fmt.Sprintf("%d files of runs are", n)
			}
			x.OnNotice(fmt.Sprintf("%s: %s left out, because another program wrote them and runs.json does not list them",
				p.dir, files))
		}
	}
}

// writeResults locks the merged folder and writes the files that are made from all runs. It calls Report, and returns
// its error with the result.
func (x *merger) writeResults() (*MergeResult, error) {
	defer atomicfile.Lock(x.dir)()
	doc := &runIndex{Format: Format, Experiment: x.name, World: x.world, Programs: x.programs}
	for _, m := range x.chosen {
		doc.Runs = append(doc.Runs, indexEntry{m.id})
	}
	o, err := openWithIndex(x.registry, x.dir, doc)
	if err != nil {
		return nil, err
	}
	o.keepPrograms()
	all := &Hosts{}
	for _, p := range x.parts {
		all = all.mergeHosts(p.hosts)
	}
	o.Hosts = all
	if err := o.writeIndex(); err != nil {
		return nil, err
	}
	out := &MergeResult{Outcome: o, Folders: x.givenCount, New: len(o.countedIDs(x.added)),
		Duplicates: len(o.countedIDs(x.duplicates))}
	if x.Report == nil {
		return out, nil
	}
	return out, x.Report(o)
}

// countedIDs returns the ids that belong to counted runs. If the data chose the number of seeds, further runs exist.
// The order of ids stays.
func (o *Outcome) countedIDs(ids []string) (counted []string) {
	counts := map[string]bool{}
	for _, r := range o.Runs {
		counts[r.ID] = true
	}
	for _, id := range ids {
		if counts[id] {
			counted = append(counted, id)
		}
	}
	return counted
}

// keepPrograms removes the programs without counted runs, and all if only one remains.
func (o *Outcome) keepPrograms() {
	var all []Program
	for _, p := range o.Programs {
		if p.Runs = o.countedIDs(p.Runs); len(p.Runs) > 0 {
			all = append(all, p)
		}
	}
	if o.Programs = all; len(all) < 2 {
		o.Programs = nil
	}
}

// writeIndex writes runs.json, the tables and host.json.
func (o *Outcome) writeIndex() error {
	if err := WriteFile(filepath.Join(o.Dir, "runs.json"), o.JSON()); err != nil {
		return err
	}
	if err := o.WriteTables(); err != nil {
		return err
	}
	return WriteHosts(o.Dir, o.Hosts)
}

// runLabel names a run in messages.
func runLabel(r *plan.Run) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(r.Point), r.Seed)
}
