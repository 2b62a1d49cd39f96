-- A bakery: what it bakes, who bought it, and when. `sqlite3 bakery.sqlite < bakery.sql` makes the database.
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, price REAL NOT NULL);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL);
CREATE TABLE purchase (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer (id),
  product_id INTEGER NOT NULL REFERENCES product (id),
  day TEXT NOT NULL,
  pieces INTEGER NOT NULL
);
INSERT INTO product VALUES
  (1, 'rye loaf', 'bread', 4.2), (2, 'walnut loaf', 'bread', 5.1), (3, 'plum cake', 'cake', 3.4),
  (4, 'poppy roll', 'roll', 0.9), (5, 'cheese roll', 'roll', 1.6), (6, 'apple tart', 'cake', 3.9);
INSERT INTO customer VALUES
  (1, 'Ilse Brandt', 'Harbour End'), (2, 'Tomas Reyes', 'Millbrook'), (3, 'Wanda Okoro', 'Harbour End'),
  (4, 'Piet de Vries', 'Lowfield'), (5, 'Sanna Lind', 'Millbrook');
INSERT INTO purchase VALUES
  (1, 1, 1, '2025-03-01', 2), (2, 1, 4, '2025-03-01', 6), (3, 2, 3, '2025-03-02', 1), (4, 3, 1, '2025-03-02', 1),
  (5, 3, 5, '2025-03-03', 4), (6, 4, 2, '2025-03-03', 1), (7, 5, 4, '2025-03-04', 12), (8, 5, 6, '2025-03-04', 2),
  (9, 2, 1, '2025-03-05', 1), (10, 1, 3, '2025-03-05', 3), (11, 4, 4, '2025-03-05', 8), (12, 3, 6, '2025-03-06', 1);
