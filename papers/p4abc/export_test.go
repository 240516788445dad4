package p4abc

// Activity returns the activity of the current packet.
func (a *Program) Activity() float64 {
	if a.integers != nil {
		return a.integers.activity.Float()
	}
	return a.activity
}
