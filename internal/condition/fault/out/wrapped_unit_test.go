package out

import (
	"strings"
	"testing"
)

// TestUnitsFitTheirColumns tries names of columns of real databases: units fit, and other numbers get no unit.
func TestUnitsFitTheirColumns(t *testing.T) {
	for column, want := range map[string]string{
		"price": "USD EUR", "avg_salary": "USD EUR", "SalesAmount": "USD EUR", "weight": "kg", "Height": "m",
		"total_distance": "km", "duration_minutes": "min", "avg_temperature": "°C", "gdp": "USD EUR", "length_cm": "",
		"height_cm": "", "copies": "", "age": "", "population": "", "student_id": "", "count_of_sales": "",
		"Number_of_prices": "", "year": "", "rank": "", "capacity": "", "price_id": "", "budget_in_billions": "", "n": "",
		"points": "", "price_per_kg": "", "horsepower": "", "votes": "", "average": "", "": "",
		"julianday(paid_on) - julianday(ordered_on)": "", "temperature_c * 1.8 + 32": "", "AVG(price)": "USD EUR",
	} {
		if got := strings.Join(unitsOf(column), " "); got != want {
			t.Errorf("%s has the units %q, want %q", column, got, want)
		}
	}
}
