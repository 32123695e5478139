import { area } from "./engine/area.js";

export default area("login", [["POST", "/api/v2/users/login", "Login", 201]]);
