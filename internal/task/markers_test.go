package task

import (
	"encoding/json"
	"testing"
)

// TestMultipliedNumbers refuses the number before a word that multiplies or doubts it, and reads it before a unit.
func TestMultipliedNumbers(t *testing.T) {
	cities := rowsGold(columns("city:text count:number"), Row{Text("Lyon"), Integer(3)}, Row{Text("Porto"), Integer(12)})
	three := rowsGold(columns("count:number"), Row{Integer(3)})
	for _, c := range []struct {
		gold    *Gold
		answer  string
		lenient bool
	}{
		{cities, "Lyon: 3 km, Porto: 12 km", true}, {cities, "Lyon: 3 million, Porto: 12 million", false},
		{cities, "Lyon: 3k, Porto: 12k", false}, {cities, "Lyon: 3 dozen\nPorto: 12 dozen", false},
		{cities, "- Lyon: 3 maybe\n- Porto: 12 guess", false},
		{three, "There are 3 singers.", true}, {three, "3 million", false}, {three, "There are 3 million singers.", false},
	} {
		raw, err := json.Marshal(c.answer)
		if err != nil {
			t.Fatal(err)
		}
		if a := c.gold.Accepts(Answer{JSON: raw}); a.Lenient != c.lenient {
			t.Errorf("%q: lenient %v, want %v", c.answer, a.Lenient, c.lenient)
		}
	}
}

// TestMarkersInASentence: the words before a marker in its sentence may deny the answer, or make it a condition or a
// choice; earlier sentences may say what they like.
func TestMarkersInASentence(t *testing.T) {
	ann := rowsGold(columns("name:text"), Row{Text("Ann")})
	share := rowsGold(columns("delta:number"), Row{Real(-0.375)})
	for _, c := range []struct {
		gold    *Gold
		answer  string
		lenient bool
	}{
		{ann, "The answer is the singer Ann.", true},
		{ann, "So the final answer is the singer Ann.", true},
		{ann, "Bob is not a singer. The answer is the singer Ann.", true},
		{ann, "Bob or Cid sang less.\nAnswer: Ann", true},
		{ann, "Is it Bob? No. The answer is Ann.", true},
		{ann, "It is wrong to say that the answer is the singer Ann.", false},
		{ann, "If ties do not count, the answer is the singer Ann.", false},
		{ann, "The answer is Bob, or the answer is the singer Ann.", false},
		{ann, "It is not true that the answer is Ann", false},
		{ann, "Bob sang. It is not true that the answer is Ann", false},
		{ann, "I don't think that the answer is Ann", false},
		{ann, "For the singers who have more than 3 songs, the answer is Ann.", true},
		{ann, "Of those who did not sing between 2010 and 2014 or are under 30, the answer is Ann.", true},
		{ann, "For singers without a concert, the answer is the singer Ann.", true},
		{share, "-0,375", true},
		{share, "The change is -0,375", true},
	} {
		raw, err := json.Marshal(c.answer)
		if err != nil {
			t.Fatal(err)
		}
		if a := c.gold.Accepts(Answer{JSON: raw}); a.Lenient != c.lenient {
			t.Errorf("%q: lenient %v, want %v", c.answer, a.Lenient, c.lenient)
		}
	}
}
