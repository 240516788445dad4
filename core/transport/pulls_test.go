package transport

import "testing"

// PULLs are a gap apart; a PULL that leaves late by less than a gap does not move those after it, and a pause adds no
// credit.
func TestPullPacer(t *testing.T) {
	var p PullPacer
	if !p.Resume(100) || p.Next() != 100 {
		t.Errorf("the first PULL goes at %v", p.Next())
	}
	p.Record(100, 10)
	p.Record(115, 10) // 5 late
	if p.Next() != 120 {
		t.Errorf("after a late PULL the next one goes at %v, want 120", p.Next())
	}
	p.Record(150, 10)
	if p.Next() != 150 {
		t.Errorf("after a PULL that is later than a gap the next one goes at %v, want 150", p.Next())
	}
	if p.Record(150, 10); p.Resume(155) || p.Next() != 160 {
		t.Errorf("within the gap the next PULL goes at %v, want 160", p.Next())
	}
	if !p.TakeChange() || p.TakeChange() {
		t.Error("a change of turns is reported once")
	}
	if p.NotifyChange(); !p.TakeChange() {
		t.Error("a change without a PULL is not reported")
	}
}
