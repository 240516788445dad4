package p4abc

// Activity is that of the current packet.
func (a *Program) Activity() float64 {
	if a.whole != nil {
		return a.whole.activity.Float()
	}
	return a.activity
}
