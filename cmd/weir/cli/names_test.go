package cli

import (
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"weir/study/measure"
	"weir/study/plan"
	"weir/study/spec"
)

var (
	allowedNames = regexp.MustCompile(`(?m)allowed: (.*)$`)
	moreNames    = regexp.MustCompile(`^… and (\d+) more$`)
)

// errorOf returns the error of the valid experiment with one edit.
func errorOf(t *testing.T, r *spec.Registry, old, now string) string {
	t.Helper()
	text := edit(t, valid, []string{old, now})
	_, err := plan.Load(r, &spec.Source{Name: "x", File: "x.yaml", Data: []byte(text)}, spec.Options{})
	if err == nil {
		t.Fatalf("%s is accepted", now)
	}
	return err.Error()
}

// An unknown name's error lists names of the registry, and counts those that it leaves out. Golden files have no such
// lists, so that a new name changes none of them.
func TestListsOfNames(t *testing.T) {
	r := Registry()
	var programs, transports, controllers []string
	for _, p := range r.Programs {
		programs = append(programs, p.Name)
	}
	for _, x := range r.Transports {
		transports = append(transports, x.Name)
	}
	for _, c := range r.Controllers {
		controllers = append(controllers, c.Name)
	}
	for _, x := range []struct {
		name, old, now string
		known          []string
	}{
		{"program", "[forward]", "[foward]", programs},
		{"transport", "transport: udp", "transport: utp", transports},
		{"congestion controller", "cc: cubic", "cc: cubik", controllers},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := errorOf(t, r, x.old, x.now)
			m := allowedNames.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("no list: %s", text)
			}
			listed := 0
			for _, name := range strings.Split(m[1], ", ") {
				if more := moreNames.FindStringSubmatch(name); more != nil {
					n, _ := strconv.Atoi(more[1])
					listed += n
				} else if listed++; !slices.Contains(x.known, name) {
					t.Errorf("%q is listed, and the registry has no such %s", name, x.name)
				}
			}
			if listed != len(x.known) {
				t.Errorf("%d names are listed or counted, the registry has %d: %s", listed, len(x.known), text)
			}
		})
	}
}

// dummyName is the name of a dummy. It is nearest to no other name, and a list that is sorted begins with it.
const dummyName = "aaaaaaaa_dummy"

// dummyExport is an export without options.
type dummyExport struct{}

func (*dummyExport) Write(*spec.Registry, string, string, io.Writer) error { return nil }

// withDummies returns the registry with one more program, scheduler, transport, controller, topology, measure, key of
// each measure, job, network model, size distribution, file format and experiment.
func withDummies() *spec.Registry {
	r := Registry()
	program, scheduler, transport, controller := r.Programs[0], r.Schedulers[0], r.Transports[0], r.Controllers[0]
	family, kind, scheme, model := r.Topologies[0], r.Measures[0], r.Jobs[0], r.Ideals[0]
	sizes, network, flows, imports, format := r.Workloads[0], r.Networks[0], r.Flows[0], r.Imports[0], r.Formats[0]
	for _, name := range []*string{&program.Name, &scheduler.Name, &transport.Name, &controller.Name, &family.Name,
		&kind.Name, &scheme.Name, &model.Name, &sizes.Name, &network.Name, &flows.Name, &imports.Name, &format.Name} {
		*name = dummyName
	}
	format.New = func() spec.Export { return &dummyExport{} }
	for i := range r.Measures {
		keys := &r.Measures[i].Keys
		*keys = slices.Concat([]measure.Key{{Name: dummyName, Doc: "a key"}}, *keys)
	}
	r.Programs = slices.Insert(r.Programs, 0, program)
	r.Schedulers = slices.Insert(r.Schedulers, 0, scheduler)
	r.Transports = slices.Insert(r.Transports, 0, transport)
	r.Controllers = slices.Insert(r.Controllers, 0, controller)
	r.Topologies = slices.Insert(r.Topologies, 0, family)
	r.Measures = slices.Insert(r.Measures, 0, kind)
	r.Jobs = slices.Insert(r.Jobs, 0, scheme)
	r.Ideals = slices.Insert(r.Ideals, 0, model)
	r.Workloads = slices.Insert(r.Workloads, 0, sizes)
	r.Networks = slices.Insert(r.Networks, 0, network)
	r.Flows = slices.Insert(r.Flows, 0, flows)
	r.Imports = slices.Insert(r.Imports, 0, imports)
	r.Formats = slices.Insert(r.Formats, 0, format)
	r.Library = slices.Insert(r.Library, 0, spec.Library{Name: dummyName,
		Files: fstest.MapFS{"experiments/one.yaml": {Data: []byte(valid)}}})
	return r
}
