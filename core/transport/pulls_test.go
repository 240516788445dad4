package transport

import "testing"

// TestPullPacer checks that PULLs are a gap apart. A PULL that is late by less than a gap does not move the later ones,
// and a pause adds no credit.
func TestPullPacer(t *testing.T) {
	var p PullPacer
	if !p.Resume(100) || p.NextPull() != 100 {
		t.Errorf("the first PULL goes at %v", p.NextPull())
	}
	p.RecordPull(100, 10)
	p.RecordPull(115, 10) // 5 late
	if p.NextPull() != 120 {
		t.Errorf("after a late PULL the next one goes at %v, want 120", p.NextPull())
	}
	p.RecordPull(150, 10)
	if p.NextPull() != 150 {
		t.Errorf("after a PULL that is later than a gap the next one goes at %v, want 150", p.NextPull())
	}
	if p.RecordPull(150, 10); p.Resume(155) || p.NextPull() != 160 {
		t.Errorf("within the gap the next PULL goes at %v, want 160", p.NextPull())
	}
	if !p.TakeChange() || p.TakeChange() {
		t.Error("a change of turns is reported once")
	}
	if p.NotifyChange(); !p.TakeChange() {
		t.Error("a change without a PULL is not reported")
	}
}
