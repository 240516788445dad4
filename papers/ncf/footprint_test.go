package ncf

import (
	"fmt"
	"reflect"
	"testing"

	"weir/core/dataplane"
)

// whereState is where the footprint has each field of what a switch keeps; "": it is fixed when the switch is made, is
// of no packet, or can be had from what else is there.
var whereState = map[reflect.Type]map[string]string{
	reflect.TypeFor[Program](): {"config": "", "detector": "", "framing": "", "ports": "", "changes": "flows by class",
		"pending": "NACKs that wait", "demands": "", "nacks": "", "evicting": "", "allowance": "NACKs of flows",
		"echoes": "last ACKs", "frames": "", "room": "", "currentHeader": "", "pendingHeaders": "headers of NACKs that wait"},
	reflect.TypeFor[port](): {"out": "", "sketch": "row 1", "memory": "memory in use", "part": "memory in use",
		"top":  "heaviest: counts",
		"next": "next of the heaviest", "mice": "mice by window", "miceShare": "", "overload": "overload",
		"repeats": "mice dropped",
		"input":   "present, by class", "offer": "supply, by class",
		"maxOutstanding": ""},
	reflect.TypeFor[Memory](): {"packets": "", "size": "", "limit": "", "balancedShares": "", "spikeShares": "",
		"floodShares": "",
		"used":        "memory in use", "congestionStart": "", "congestionEnd": "", "congested": "congestion", "separate": "",
		"budget": "time",
		"last":   "congestion", "spiking": "congestion"},
	reflect.TypeFor[budget](): {"limit": "", "rolling": "", "windows": "time by window", "spent": "time",
		"exhausted": "time",
		"duration":  "", "restore": "", "pressed": "time", "credited": "time"},
	reflect.TypeFor[tally](): {"slots": "mice by window", "duration": "", "window": "", "total": "mice of all windows"},
	reflect.TypeFor[HeaviestFlows](): {"keys": "heaviest: keys", "origins": "heaviest: headers",
		"counts":  "heaviest: counts",
		"windows": "", "window": "", "slot": "", "smallest": "", "headers": "heaviest: frames"},
	reflect.TypeFor[echoes](): {"flows": "last ACKs", "headers": "headers of last ACKs"},
	reflect.TypeFor[Sketch](): {"cells": "row 1", "lost": "row 1: dropped", "losses": "dropped by window",
		"loss": "dropped by window", "forwarded": "",
		"quads": "", "window": "", "maxCount": "", "slot": "", "rows": "",
		"flowCells": "", "minima": "", "totals": "totals of windows", "latest": "flows by window", "start": "", "sweep": "",
		"counts": "", "keySeeds": "", "config": ""},
	reflect.TypeFor[allowance](): {"owed": "NACKs of flows", "totalOwed": "", "credit": "", "turn": ""},
}

// TestFootprintHasAllState checks that the footprint has all state: a new field must declare its place.
func TestFootprintHasAllState(t *testing.T) {
	names := map[string]bool{"": true}
	for _, s := range []setup{{given: []string{"coalesce", "50us", "change", "flowlet"}},
		{given: []string{"renew", "windows"}}, {given: []string{"coalesce", "50us", "form", "ece"}, alone: true}} {
		s.ports, s.queues, s.given = 2, 3, append([]string{"memory", "100kB"}, s.given...)
		r := newRig(t, s)
		for _, s := range r.g.Footprint().Stages {
			for _, x := range s.Registers {
				names[x.Name] = true
			}
		}
	}
	for of, where := range whereState {
		for i := range of.NumField() {
			name, ok := where[of.Field(i).Name]
			if !ok || !names[name] {
				t.Errorf("%v: %s is in %q, which the footprint does not have", of, of.Field(i).Name, name)
			}
		}
		if len(where) != of.NumField() {
			t.Errorf("%v has %d fields, not %d", of, of.NumField(), len(where))
		}
	}
}

// TestFootprintSizes checks sizes by hand, of two ports and the traffic of unknown ports, n = 4, N = 20.
func TestFootprintSizes(t *testing.T) {
	for _, x := range []struct {
		given []string
		name  string
		want  string // cells × bits; "": there is none
	}{
		{nil, "mice by window", "12×64"},
		{nil, "mice of all windows", "3×64"},
		{nil, "present, by class", "3×512"}, // T, its start, 3 classes in this T and the last
		{nil, "overload", "3×194"},          // two levels and whether they were full, and their time
		{nil, "mice dropped", "6144×8"},
		{[]string{"bandwidth", "equal"}, "mice dropped", ""},
		{[]string{"nack", "elephants"}, "mice dropped", ""},
		{nil, "supply, by class", "3×321"},   // 3 classes, its time, whether it is known, d0
		{nil, "flows by window", "12×32"},    // of a sketch a port
		{nil, "time", "2×193"},               // spent, and the windows of pressing and of credit; whether all was spent
		{nil, "congestion", "2×66"},          // whether there is, and is for mice, since when
		{nil, "next of the heaviest", "3×5"}, // of 20
		{nil, "time by window", ""},
		{nil, "NACKs that wait", ""},
		{[]string{"renew", "windows"}, "time by window", "8×64"},
		{[]string{"renew", "windows"}, "time", ""},
		{[]string{"pool", "switch"}, "time", "3×193"}, // the pool's, and each port's part
		{[]string{"sketch", "switch"}, "flows by window", "4×32"},
		{[]string{"nack", "none"}, "supply, by class", ""},
		{[]string{"nack_budget", "0"}, "NACKs of flows", ""},
		{nil, "NACKs of flows", "1024×32"},
		{nil, "last ACKs", ""},
		// key, two times, two ends, five answers, port, two numbers, two stamps, window, addresses, flow, hash, ports and
		// four bytes
		{[]string{"form", "ece"}, "last ACKs", "1024×677"},
	} {
		t.Run(fmt.Sprint(x.name, x.given), func(t *testing.T) {
			r := newRig(t, setup{ports: 2, queues: 3, given: append([]string{"memory", "100kB"}, x.given...)})
			f, got := r.g.Footprint(), ""
			if err := f.Check(); err != nil {
				t.Error(err)
			}
			for _, s := range f.Stages {
				for _, y := range s.Registers {
					if y.Name == x.name {
						got = fmt.Sprintf("%d×%d", y.Cells, y.Bits)
					}
				}
			}
			if got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}

// TestFootprintBreaks checks that an unresponsive flow costs a look-up in the table for each packet, and the number of
// flows a logarithm.
func TestFootprintBreaks(t *testing.T) {
	count := func(kind dataplane.OperationKind, given ...string) (n int) {
		r := newRig(t, setup{ports: 2, queues: 3, given: append([]string{"memory", "100kB"}, given...)})
		for _, s := range r.g.Footprint().Stages {
			for _, o := range s.Operations {
				if o.Kind == kind {
					n++
				}
			}
		}
		return n
	}
	if a, b := count(dataplane.Looping), count(dataplane.Looping, "deaf", "alike"); a != b+1 {
		t.Errorf("%d loops, and %d if nobody is trimmed first", a, b)
	}
	if a, b := count(dataplane.Transcendental), count(dataplane.Transcendental, "nack", "none"); a != 1 || b != 0 {
		t.Errorf("%d logarithms, and %d without NACKs", a, b)
	}
}

// TestFootprintOfDrops checks that counting drops at most doubles each cost. A sketch of n = 4 windows and five rows
// that counts only arrivals has 43,568 bytes, 11 reads of registers and 21 operations a packet.
func TestFootprintOfDrops(t *testing.T) {
	r := newRig(t, setup{ports: 1, queues: 3, given: []string{"memory", "100kB", "sketch", "switch"}})
	size, reads, operations := 0, 0, 0
	for _, s := range r.g.sketchStages() {
		for _, x := range s.Registers {
			size += x.Cells * x.Bits / 8
			reads += x.Reads
		}
		for _, o := range s.Operations {
			operations += o.Times
		}
	}
	if size > 2*43_568 || reads > 2*11 || operations > 2*21 {
		t.Errorf("%d bytes, %d reads and %d operations: more than twice those of arrivals alone", size, reads, operations)
	}
}
