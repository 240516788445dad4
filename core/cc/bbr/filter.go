package bbr

// maxFilter is Kathleen Nichols' windowed maximum with three samples (Linux' lib/win_minmax.c). It counts time in
// rounds.
type maxFilter [3]sample

// sample is a value and the round in which it was measured.
type sample struct {
	round uint32
	value float64
}

// current returns the maximum of the window.
func (m *maxFilter) current() float64 { return m[0].value }

// addSample adds the value of a round. window is the filter's length in rounds.
func (m *maxFilter) addSample(window, round uint32, value float64) {
	s := sample{round, value}
	if value >= m[0].value || round-m[2].round > window {
		m[0], m[1], m[2] = s, s, s
		return
	}
	if value >= m[1].value {
		m[1], m[2] = s, s
	} else if value >= m[2].value {
		m[2] = s
	}
	switch age := round - m[0].round; {
	case age > window:
		m[0], m[1], m[2] = m[1], m[2], s
		if round-m[0].round > window {
			m[0], m[1], m[2] = m[1], m[2], s
		}
	case m[1].round == m[0].round && age > window/4:
		m[1], m[2] = s, s
	case m[2].round == m[1].round && age > window/2:
		m[2] = s
	}
}
