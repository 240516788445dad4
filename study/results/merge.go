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

// Merging says how results folders are merged.
type Merging struct {
	Into string // the merged folder goes below it, as those of weir run below --out
	Any  bool   // also runs that several programs have carried out
	// Generators of traffic in the lab, by name: runs of one are not runs of another.
	Generators []string
	// OnNotice is told of what is not taken, though it is no error.
	OnNotice func(text string)
	// Report writes what is made of the outcome besides into its folder, while no other process does.
	Report func(*Outcome) error
}

// Merged says what has come of it.
type Merged struct {
	*Outcome
	Folders int // that were given
	New     int // runs that the merged folder did not have
	Alike   int // runs that several folders had, with the same bytes
}

// Merge makes one results folder of several of one experiment: all their runs, as if one machine had carried them out.
// Nothing is written before all is checked. What is wrong with the folders is an InputErrors; other errors are about
// writing, or ctx's if that has ended: what is merged then stays, and the same call goes on. Where the merged folder is
// there already, it is one of those that are merged.
func Merge(ctx context.Context, r *experiment.Registry, dirs []string, m Merging) (*Merged, error) {
	x := &merging{Merging: m, registry: r}
	if err := x.open(dirs); err != nil {
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
		if err := x.read(p, &wrongs); err != nil {
			return nil, err
		}
	}
	if err := wrongs.err(); err != nil {
		return nil, err
	}
	if err := x.choose(); err != nil {
		return nil, err
	}
	x.tell()
	if err := x.write(ctx); err != nil {
		if !errors.As(err, &document.InputErrors{}) {
			err = fmt.Errorf("%w; %d of %d runs are merged and kept; the same command goes on with the rest", err, x.kept,
				len(x.chosen))
		}
		return nil, err
	}
	return x.end()
}

// merging is what Merge has in hand.
type merging struct {
	Merging
	registry    *experiment.Registry
	parts       []*part
	given       int // parts that were named
	name, world string
	spec        *experiment.Spec
	command     string
	origin      bool   // it is known
	version     string // of the program that has carried out the runs, as people call it; "": of several
	program     string // its revision
	dir         string
	plan        map[string]*plan.Run // by place
	order       []*plan.Run
	executables []string // that are known
	left        []*mergeable
	chosen      []*mergeable                       // one a run, in the order of the plan
	alike       []string                           // ids of runs that several folders had
	lists       map[string]map[string][]*mergeable // by run and name of the list: those that have it
	programs    []Program                          // if there are several
	kept        int                                // of the chosen, those that the merged folder has
	written     []string                           // ids of these that it did not have
}

// open opens the folders, makes one experiment of theirs, and finds where it goes.
func (x *merging) open(dirs []string) error {
	var wrongs problems
	for _, dir := range dirs {
		if x.has(dir) { // it was named twice
			continue
		}
		p, err := openPart(dir)
		if err := wrongs.join(err); err != nil {
			return err
		}
		if p != nil && err == nil {
			x.parts = append(x.parts, p)
		}
	}
	if err := wrongs.err(); err != nil {
		return err
	}
	x.given = len(x.parts)
	if err := x.agree(); err != nil {
		return err
	}
	text, from, base, err := together(x.parts)
	if err != nil {
		return err
	}
	if err := x.load(text, from, base); err != nil {
		return err
	}
	if err := x.openTarget(); err != nil {
		return err
	}
	return x.sameInputs(base)
}

// has is whether a folder is one of the parts.
func (x *merging) has(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false // what opens it says so
	}
	return slices.ContainsFunc(x.parts, func(p *part) bool {
		other, err := os.Stat(p.dir)
		return err == nil && os.SameFile(info, other)
	})
}

// agree finds the name and the world that all parts have.
func (x *merging) agree() error {
	x.world = x.parts[0].world
	var named *part
	for _, p := range x.parts {
		if p.world != x.world {
			return document.InputErrors{{File: p.dir, Line: 1, Column: 1, Msg: fmt.Sprintf("these are results of the %s, and "+
				"those of %s are of the %s: simulated and measured runs stay apart", worldName(p.world), x.parts[0].dir,
				worldName(x.world)), Allowed: "folders of the simulator, and then those of the lab into the same folder"}}
		}
		name := p.name()
		switch {
		case name == "":
		case named == nil:
			named, x.name = p, name
		case name != x.name:
			return wrong(p.dir, "runs.json", "the experiment is named %q, and that of %s %q", name, named.dir, x.name)
		}
	}
	if named == nil {
		return wrong(x.parts[0].dir, "runs.json", "the file is in none of the folders, which have other names than weir run "+
			"gives: nothing says how the experiment is named; weir run with the same options and --out writes it")
	}
	return nil
}

func worldName(world string) string {
	if world == experiment.Lab {
		return "lab"
	}
	return "simulator"
}

// load loads the experiment.
func (x *merging) load(text []byte, from *originFile, base *part) error {
	name := filepath.Join(base.dir, "spec.yaml")
	src, err := x.registry.Open(name)
	if err != nil {
		return err
	}
	src.Name, src.Data = x.name, text
	src.Open = func(name string) ([]byte, error) {
		return document.ReadFile(inputFile(base.dir, name), document.LargestInput)
	}
	if x.spec, err = plan.Load(x.registry, src, experiment.Options{Resolved: true, Origin: from.spec()}); err != nil {
		return err
	}
	if !bytes.Equal(x.spec.Resolved(), text) {
		return document.InputErrors{{File: name, Line: 1, Column: 1,
			Msg:     "another version of weir wrote it, or it was changed: this one would write it otherwise",
			Allowed: "the version of weir that wrote it"}}
	}
	if x.origin = from != nil; x.origin {
		x.command = from.Command
	}
	x.oneProgram()
	x.plan, x.order = map[string]*plan.Run{}, plan.RunsOn(x.spec, x.world)
	for _, r := range x.order {
		x.plan[place(r.Point, r.Seed)] = r
	}
	return nil
}

// oneProgram finds the program of all parts, if they are of one.
func (x *merging) oneProgram() {
	for k, p := range x.parts {
		version, program := p.program()
		if k > 0 && program != x.program {
			x.version, x.program = "", severalKey
			return
		}
		x.version, x.program = version, program
	}
}

// key is what the merged folder's name has of the program.
func (x *merging) key() string {
	r, err := revision.Parse(x.program)
	switch {
	case x.program == severalKey:
		return severalKey
	case err != nil: // it is not known
		return revision.This().Key()
	}
	return r.Key()
}

// openTarget finds the folder that all goes into, which is one of the parts if it is there.
func (x *merging) openTarget() error {
	if _, err := os.Stat(filepath.Join(x.Into, "spec.yaml")); err == nil {
		return document.InputErrors{{File: x.Into, Line: 1, Column: 1, Msg: "this is a results folder itself",
			Allowed: "--into with the folder that a results folder is to be in, as --out of weir run"}}
	}
	x.dir = folderOf(x.spec, x.Into, x.world, x.key())
	if err := Usable(x.spec, x.dir); err != nil {
		return err
	}
	info, err := os.Stat(x.dir)
	if err != nil {
		return nil // it is made
	}
	for _, p := range x.parts {
		if other, err := os.Stat(p.dir); err == nil && os.SameFile(info, other) {
			p.target = true
			return nil
		}
	}
	if _, err := os.Stat(filepath.Join(x.dir, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil // there is nothing in it yet
	}
	p, err := openPart(x.dir)
	if err != nil {
		return err
	}
	p.target = true
	x.parts = append(x.parts, p)
	return nil
}

// sameInputs is an error if a file that the experiment names is not the same in all parts.
func (x *merging) sameInputs(base *part) error {
	var wrongs problems
	for name, want := range x.spec.Inputs() {
		for _, p := range x.parts {
			file := inputFile(p.dir, name)
			data, err := document.ReadFile(file, document.LargestInput)
			switch {
			case errors.Is(err, fs.ErrNotExist) && p.target && p.doc == nil: // whoever began it got no further
			case err != nil:
				wrongs.add(file, "", "it cannot be read: %v", document.Reason(err))
			case !bytes.Equal(data, want):
				wrongs.add(file, "", "it is not what %s is: the runs are of other input", inputFile(base.dir, name))
			}
		}
	}
	slices.SortFunc(wrongs, func(a, b document.InputError) int { return cmp.Compare(a.File, b.File) })
	return wrongs.err()
}

// tell tells of what is not taken.
func (x *merging) tell() {
	taken, left := map[string]bool{}, map[*part]int{}
	for _, m := range x.chosen {
		taken[m.id] = true
	}
	for _, m := range x.left {
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
			x.OnNotice(fmt.Sprintf("%s: %s left out: another program has carried them out, and runs.json does not name them",
				p.dir, files))
		}
	}
}

// end writes what is made of all runs.
func (x *merging) end() (*Merged, error) {
	defer atomicfile.Lock(x.dir)()
	doc := &index{Format: Format, Experiment: x.name, World: x.world, Programs: x.programs}
	for _, m := range x.chosen {
		doc.Runs = append(doc.Runs, indexed{m.id})
	}
	o, err := openAs(x.registry, x.dir, doc)
	if err != nil {
		return nil, err
	}
	o.keepPrograms()
	all := &Hosts{}
	for _, p := range x.parts {
		all = all.together(p.hosts)
	}
	o.Hosts = all
	if err := o.writeIndex(); err != nil {
		return nil, err
	}
	out := &Merged{Outcome: o, Folders: x.given, New: len(o.ofThese(x.written)), Alike: len(o.ofThese(x.alike))}
	if x.Report == nil {
		return out, nil
	}
	return out, x.Report(o)
}

// ofThese are the ids that runs of the outcome have: where the data chose how many seeds count, others are there too.
func (o *Outcome) ofThese(ids []string) (own []string) {
	counts := map[string]bool{}
	for _, r := range o.Runs {
		counts[r.ID] = true
	}
	for _, id := range ids {
		if counts[id] {
			own = append(own, id)
		}
	}
	return own
}

// keepPrograms leaves the programs of runs that count, if these are of several.
func (o *Outcome) keepPrograms() {
	var all []Program
	for _, p := range o.Programs {
		if p.Runs = o.ofThese(p.Runs); len(p.Runs) > 0 {
			all = append(all, p)
		}
	}
	if o.Programs = all; len(all) < 2 {
		o.Programs = nil
	}
}

// writeIndex writes the files that are made of all runs, and what is said of machines.
func (o *Outcome) writeIndex() error {
	if err := WriteFile(filepath.Join(o.Dir, "runs.json"), o.JSON()); err != nil {
		return err
	}
	if err := o.WriteTables(); err != nil {
		return err
	}
	return WriteHosts(o.Dir, o.Hosts)
}

// named is how a message names a run.
func named(r *plan.Run) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(r.Point), r.Seed)
}
