package cli

import (
	"encoding/json"

	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/plan"
)

// jsonTimer is a timer in the document of weir check --json. Times are in seconds; a missing time means that the
// transport does not do this, or has no such limit.
type jsonTimer struct {
	Traffic     string   `json:"traffic"`
	Transport   string   `json:"transport"`
	Points      []string `json:"points"`
	Text        string   `json:"text"`
	ProbeAfter  *float64 `json:"probe_after_s,omitempty"`
	ResendAfter *float64 `json:"resend_after_s,omitempty"`
	BaseRTT     *float64 `json:"base_rtt_s,omitempty"`
	MaxRTT      *float64 `json:"max_rtt_s,omitempty"`
}

// checkJSON prints the result of weir check as one document. It counts all runs, also those that only the data may
// require.
func (a *app) checkJSON(s *experiment.Spec) error {
	runs := plan.ListRuns(s)
	document := struct {
		Name       string      `json:"name"`
		Runs       int         `json:"runs"`
		PacketHops float64     `json:"packet_hops"`
		Timers     []jsonTimer `json:"timers"`
	}{s.Name(), len(runs), plan.EstimateCost(runs).PacketHops, []jsonTimer{}}
	seconds := func(t unit.Time) *float64 {
		if t == unit.Never {
			return nil
		}
		x := t.Seconds()
		return &x
	}
	for _, t := range s.Timers() {
		document.Timers = append(document.Timers, jsonTimer{t.Traffic, t.Transport, t.Points, t.Text,
			seconds(t.ProbeAfter), seconds(t.ResendAfter), seconds(t.BaseRTT), seconds(t.MaxRTT)})
	}
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(document)
}
