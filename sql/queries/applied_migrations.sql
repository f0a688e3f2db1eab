-- applied_migrations: the migrations applied, in order.
SELECT name, checksum FROM applied_migrations ORDER BY name
