package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/jobs/job"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/workload"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/measure"
)

// Registry has everything that experiment files can name. It is a value: a program that embeds Weir makes its own,
// with its own schemes.
type Registry struct {
	Programs    []dataplane.Scheme
	Schedulers  []tm.Scheme
	Transports  []transport.Scheme
	Controllers []cc.Scheme
	Topologies  []topology.Scheme
	Measures    []measure.Definition
	Jobs        []job.Scheme          // traffic: [{job: {NAME: {…}}}]
	Ideals      []job.Model           // network: {NAME: {…}}
	Workloads   []workload.CDF        // sizes: NAME
	Networks    []topology.FileFormat // topology: {file: …, format: NAME}
	Flows       []workload.FileFormat // traffic: [{file: …, format: NAME}]
	Imports     []Import              // weir import --format NAME
	Formats     []ExportFormat        // weir export --format NAME
	Library     []Library
	Times       map[string]float64 // estimated seconds of experiments of the library, by name (plan.Cost.Elapsed)
}

// ExportFormat is a file format to which results can be exported.
type ExportFormat struct {
	Name string
	Doc  string        // one line: what is written
	New  func() Export // returns an Export with default options
}

// Export writes results in a format. It is a pointer to a struct. The struct's fields are the format's options: flags
// of the command, with the tags of package kong.
type Export interface {
	// Write writes the results of folder dir, which results.Open reads with the registry, into folder into, and reports
	// on out what it has written.
	Write(r *Registry, dir, into string, out io.Writer) error
}

// CheckedExport is an Export that checks its options.
type CheckedExport interface {
	// Check returns an error that names the flag of an invalid option.
	Check() error
}

// Import is a format of other programs' configurations from which experiments can be made.
type Import struct {
	Name string
	Doc  string // one line: what is read
	// Make converts a configuration to an experiment, as YAML that is valid in the registry. The files that it names are
	// relative to folder, where the experiment will be stored. Warnings are about what the registry lacks, and what has
	// no counterpart. Errors in the configuration are document.InputErrors.
	Make func(r *Registry, config, folder string) (experiment []byte, warnings []document.Warning, err error)
	// Warnings are the kinds of warnings that Make returns.
	Warnings []scheme.WarningKind
}

// Library has the experiments of one package.
type Library struct {
	Name  string // p4abc: file fig4.yaml is the experiment p4abc/fig4
	Title string // heading of its experiments in lists, such as P4-ABC; "": the name
	Files fs.FS  // experiments/*.yaml, and the files that they name, relative to experiments/

	Lab       []string // experiments for the lab, which needs root: "lab" is NAME/lab
	Benchmark bool     // lists show benchmarks after all other libraries
}

// LibraryEntry is one experiment of a library.
type LibraryEntry struct {
	Name, Title string
	Paper       Paper
	Lab         bool    // it is for the lab, which needs root
	Time        float64 // estimated seconds (Registry.Times); 0: unknown
}

// Source is an experiment's file.
type Source struct {
	Name string // p4abc/fig4, or the file's base name
	File string // name of the file in errors
	Data []byte
	Open func(name string) ([]byte, error) // opens a file that the spec names
}

// Path returns the path of a file that the spec names, relative to the spec's folder. An absolute name is returned
// unchanged.
func (s *Source) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(s.File), name)
}

// Experiments lists the library, sorted by name, with benchmarks last. A file that cannot be parsed has no title and no
// paper.
func (r *Registry) Experiments() []LibraryEntry {
	var list []LibraryEntry
	benchmarks := map[string]bool{}
	for _, l := range r.Library {
		files, _ := fs.Glob(l.Files, "experiments/*.yaml")
		for _, f := range files {
			name := l.Name + "/" + strings.TrimSuffix(path.Base(f), ".yaml")
			data, err := fs.ReadFile(l.Files, f)
			if err != nil {
				continue
			}
			e := LibraryEntry{Name: name, Time: r.Times[name], Lab: slices.Contains(l.Lab, path.Base(name))}
			benchmarks[name] = l.Benchmark
			if t := parseListed(f, data); t != nil {
				if x := top.ViewMap(t).Get("title"); x != nil {
					e.Title = x.Text
				}
				e.Paper = paperOf(t)
			}
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b LibraryEntry) int {
		switch x, y := benchmarks[a.Name], benchmarks[b.Name]; {
		case x == y:
			return strings.Compare(a.Name, b.Name)
		case x:
			return 1
		}
		return -1
	})
	return list
}

// parseListed parses only what lists show of an experiment file, or the whole file if that part cannot be cut out. It
// returns nil if the file cannot be parsed.
func parseListed(name string, data []byte) *document.Node {
	if some, ok := listedLines(data); ok {
		c := document.NewReader(FileKind)
		if t := document.Parse(c, name, some); t != nil && c.OK() && top.ViewMap(t).Get("title") != nil {
			return t
		}
	}
	return document.Parse(document.NewReader(FileKind), name, data)
}

// listedLines returns the lines of the top-level keys title and paper with their values. It returns false if a line
// begins with anything but a plain key, a part of a value, or a comment. Lists of experiments need only these keys, and
// parsing whole files is slower.
func listedLines(data []byte) (some []byte, ok bool) {
	listed := false
	for line := range bytes.Lines(data) {
		switch c := line[0]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			listed = bytes.HasPrefix(line, []byte("title:")) || bytes.HasPrefix(line, []byte("paper:"))
		case !bytes.ContainsRune([]byte(" \t#-]}\r\n"), rune(c)):
			return nil, false
		}
		if listed {
			some = append(some, line...)
		}
	}
	return some, true
}

// StandardInput is the path of standard input.
const StandardInput = "-"

// OpenExperiment returns the experiment with a library name or a file's path, or reads it from standard input
// (StandardInput). For standard input, the files that it names are opened in the current folder. A library's name has
// priority over a file. Errors are document.InputErrors; an unknown name suggests similar ones.
func (r *Registry) OpenExperiment(name string) (*Source, error) {
	for _, l := range r.Library {
		rest, ok := strings.CutPrefix(name, l.Name+"/")
		if !ok {
			continue
		}
		file := "experiments/" + rest + ".yaml"
		if data, err := fs.ReadFile(l.Files, file); err == nil {
			return &Source{Name: name, File: name + ".yaml", Data: data, Open: func(n string) ([]byte, error) {
				return fs.ReadFile(l.Files, path.Join("experiments", n))
			}}, nil
		}
	}
	var data []byte
	var err error
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	if name == StandardInput {
		base, name = "stdin", "standard input"
		data, err = document.ReadStream(os.Stdin, document.MaxFile)
	} else {
		data, err = document.ReadFile(name, document.MaxFile)
	}
	if err == nil {
		src := &Source{Name: base, File: name, Data: data}
		src.Open = func(n string) ([]byte, error) { return document.ReadFile(src.Path(n), document.MaxInput) }
		return src, nil
	}
	if large := (*document.TooLargeError)(nil); errors.As(err, &large) {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1, Msg: "the file is larger than " +
			large.Max.String(), Allowed: "up to " + large.Max.String()}}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1, Msg: "the file cannot be read: " +
			document.UnwrapPathError(err).Error(),
			Allowed: "a file or a name from weir list"}}
	}
	e := document.InputError{File: name, Line: 1, Column: 1, Unplaced: true,
		Msg: "unknown experiment or file \"" + text.EscapeLine(name) + "\""}
	var names []string
	for _, e := range r.Experiments() {
		names = append(names, e.Name)
	}
	likely := nearestName(name, names)
	if likely != "" {
		e.Msg += fmt.Sprintf("; did you mean %q?", likely)
	}
	e.Msg += "; weir list shows the experiments"
	return nil, document.InputErrors{e}
}

// nearestName returns the name of names that equals name without its library, or else is nearest to name. Without
// the library, one of the two names must begin with the other. It returns "" if no name is near.
func nearestName(name string, names []string) string {
	var bases []string
	for _, n := range names {
		bases = append(bases, path.Base(n))
	}
	if !slices.Contains(bases, name) {
		if likely := document.FindNearest(name, names); likely != "" {
			return likely
		}
		near := document.FindNearest(name, bases)
		if !strings.HasPrefix(name, near) && !strings.HasPrefix(near, name) {
			return ""
		}
		name = near
	}
	if i := slices.Index(bases, name); i >= 0 {
		return names[i]
	}
	return ""
}

// KernelTransports returns the names of the transports that a kernel also implements.
func (s *Spec) KernelTransports() (names []string) {
	for i := range s.registry.Transports {
		if t := &s.registry.Transports[i]; t.Kernel != 0 {
			names = append(names, t.Name)
		}
	}
	return names
}

// FollowedControllers returns the names of the controllers that Linux' own TCP can follow with agents on its hosts
// (cc.Traits).
func (s *Spec) FollowedControllers() (names []string) {
	for i := range s.registry.Controllers {
		c := &s.registry.Controllers[i]
		if c.Config == nil {
			continue
		}
		if cc.TraitsOf(c.Config()).Agent != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// KernelControllers returns the names of the controllers that a kernel offers, in the order of offers, which are the
// kernel's names. Offers that the registry lacks are left out.
func (s *Spec) KernelControllers(offers []string) (names []string) {
	for _, offer := range offers {
		for i := range s.registry.Controllers {
			if c := &s.registry.Controllers[i]; c.Kernel == offer {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// Worlds in which an experiment runs.
const (
	Sim = "sim" // the simulator: results are the same again, to the byte
	Lab = "lab" // this machine's kernel and real packets: results are measurements
)

// Warning is a report that a part of an experiment may not work as its author intends: its Kind, its place (At), the
// Port concerned, and a Text. It prints as "PLACE: TEXT (IDENTIFIER)". It is
// document.Warning under a name for modules of others, which register an Import and cannot import package document.
type Warning = document.Warning

// Kinds of warnings about parts of a file that are not schemes.
var (
	warnOrder = scheme.WarningKind{ID: "order-needed",
		Condition: "switches spread the packets of a flow, and its transport takes reordered packets for lost"}
	warnNoChoice = scheme.WarningKind{ID: "paths-no-choice",
		Condition: "paths is above 1, and no switch chooses a path by a hash of the source port"}
	warnNoForwarding = scheme.WarningKind{ID: "switch-no-forwarding",
		Condition: "no program of a switch declares that it chooses the port of packets, and one of them declares no traits"}
	warnMulti = scheme.WarningKind{ID: "telemetry-multi",
		Condition: "multi makes the units of telemetry in format: hpcc too coarse for the slowest port that packets with " +
			"telemetry pass"}
	warnNIC = scheme.WarningKind{ID: "job-nic",
		Condition: "nic is given for a job that chooses the NICs of its messages"}
	warnClasses = scheme.WarningKind{ID: "flow-classes",
		Condition: "flows of a file in format: hpcc have several classes, which are treated alike"}
	warnCaptureLeft = scheme.WarningKind{ID: "capture-left",
		Condition: "packets of a capture are left out"}
	warnCaptureInterfaces = scheme.WarningKind{ID: "capture-interfaces",
		Condition: "packets of several interfaces of a capture are used, so some may count twice"}
	warnCaptureShort = scheme.WarningKind{ID: "capture-short",
		Condition: "packets of a capture are shorter than the smallest datagram"}
	warnCaptureLate = scheme.WarningKind{ID: "capture-late",
		Condition: "packets or flows of a capture begin after the end of the run"}
	warnCaptureMidway = scheme.WarningKind{ID: "capture-midway",
		Condition: "connections of a capture begin before it, without a SYN"}
	warnCaptureMissing = scheme.WarningKind{ID: "capture-missing",
		Condition: "bytes of TCP streams are missing from a capture, but count"}
)

// WarningKinds returns all kinds of warnings about an experiment: from the registry's schemes and imports, and those
// that any experiment may have. Each is listed once.
func (r *Registry) WarningKinds() []scheme.WarningKind {
	all := slices.Concat(document.WarningKinds(), cc.WarningKinds(), dataplane.WarningKinds(), transport.WarningKinds(),
		[]scheme.WarningKind{warnOrder, warnNoChoice, warnNoForwarding, warnMulti, warnNIC, warnCollective, warnClasses,
			warnCaptureLeft, warnCaptureInterfaces, warnCaptureShort, warnCaptureLate, warnCaptureMidway, warnCaptureMissing})
	add := func(kinds []scheme.WarningKind) {
		for _, k := range kinds {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	for _, x := range r.Transports {
		add(x.Warnings)
	}
	for _, x := range r.Controllers {
		add(x.Warnings)
	}
	for _, x := range r.Programs {
		add(x.Warnings)
	}
	for _, x := range r.Schedulers {
		add(x.Warnings)
	}
	for _, x := range r.Imports {
		add(x.Warnings)
	}
	return all
}
