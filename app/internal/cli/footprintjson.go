package cli

import (
	"encoding/json"

	"weir/core/dataplane"
	"weir/study/plan"
)

// The types of the document of weir show --footprint --json.
type jsonTable struct {
	Name       string `json:"name"`
	Match      string `json:"match"`
	Entries    int    `json:"entries"`
	KeyBits    int    `json:"key_bits"`
	ActionBits int    `json:"action_bits"`
}

type jsonRegister struct {
	Name   string `json:"name"`
	Cells  int    `json:"cells"`
	Bits   int    `json:"cell_bits"`
	Reads  int    `json:"reads"`
	Writes int    `json:"writes"`
}

type jsonMeter struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Rates int    `json:"rates"`
}

type jsonOperation struct {
	Kind    string `json:"kind"`
	What    string `json:"what"`
	Times   int    `json:"times"`
	Section string `json:"section,omitempty"`
}

type jsonStage struct {
	Program    string          `json:"program"`
	Name       string          `json:"name"`
	Gress      string          `json:"gress"`
	Tables     []jsonTable     `json:"tables"`
	Registers  []jsonRegister  `json:"registers"`
	Meters     []jsonMeter     `json:"meters"`
	Operations []jsonOperation `json:"operations"`
}

type jsonBreak struct {
	Section string `json:"section"`
	Program string `json:"program"`
	Stage   string `json:"stage"`
	What    string `json:"what"`
}

type jsonSums struct {
	Ingress   int   `json:"ingress_stages"`
	Egress    int   `json:"egress_stages"`
	Entries   int   `json:"entries"`
	SRAM      int64 `json:"sram_bits"`
	TCAM      int64 `json:"tcam_bits"`
	Registers int64 `json:"register_bits"`
	Meters    int   `json:"meters"`
	Reads     int   `json:"reads"`
	Writes    int   `json:"writes"`
}

type jsonSwitch struct {
	Tier   string      `json:"tier"`
	Switch string      `json:"switch"`
	Count  int         `json:"count"`
	Ports  int         `json:"ports"`
	Stages []jsonStage `json:"stages"`
	Sums   jsonSums    `json:"sums"`
	Breaks []jsonBreak `json:"breaks"`
}

type jsonFootprint struct {
	Points   []string     `json:"points"`
	Switches []jsonSwitch `json:"switches"`
}

// footprintJSON prints footprints as one document.
func (a *app) footprintJSON(s *showCmd, points []plan.PointFootprint) error {
	document := struct {
		Name     string          `json:"name"`
		Topology string          `json:"topology,omitempty"`
		Points   []jsonFootprint `json:"footprints"`
	}{Name: s.Name, Topology: s.Topology}
	for _, p := range points {
		out := jsonFootprint{Points: p.Points}
		for i := range p.Switches {
			out.Switches = append(out.Switches, switchJSON(&p.Switches[i]))
		}
		document.Points = append(document.Points, out)
	}
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// switchJSON converts the footprint of a kind of switch.
func switchJSON(f *plan.SwitchFootprint) jsonSwitch {
	n := jsonSwitch{Tier: f.Tier, Switch: f.Switch, Count: f.Count, Ports: f.Ports, Sums: jsonSums(f.Sums()),
		Breaks: []jsonBreak{}}
	for k := range f.Programs {
		for i := range f.Programs[k].Stages {
			n.Stages = append(n.Stages, stageJSON(f.Programs[k].Name, &f.Programs[k].Stages[i]))
		}
	}
	for _, x := range f.Breaks(dataplane.RMT) {
		n.Breaks = append(n.Breaks, jsonBreak{x.Section, x.Program, x.Stage, x.What})
	}
	return n
}

// stageJSON converts the footprint of a stage.
func stageJSON(program string, s *dataplane.Stage) jsonStage {
	out := jsonStage{program, s.Name, s.Gress.String(), []jsonTable{}, []jsonRegister{}, []jsonMeter{}, []jsonOperation{}}
	for _, t := range s.Tables {
		out.Tables = append(out.Tables, jsonTable{t.Name, t.Match.String(), t.Entries, t.Key, t.Action})
	}
	for _, r := range s.Registers {
		out.Registers = append(out.Registers, jsonRegister(r))
	}
	for _, m := range s.Meters {
		out.Meters = append(out.Meters, jsonMeter(m))
	}
	for _, o := range s.Operations {
		out.Operations = append(out.Operations, jsonOperation{o.Kind.String(), o.What, o.Times, o.Kind.Section()})
	}
	return out
}
